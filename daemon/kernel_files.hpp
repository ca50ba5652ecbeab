#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Reading what the kernel shows of the machine. What is not there is absent;
/// what may not be read is a fault that names it, so that no machine is ever
/// known by a part of its identifiers (CASES 48).
namespace bc::daemon {

/// The file's text without line ends; nullopt when there is no such file, or
/// the kernel has nothing to say in it.
[[nodiscard]] result<std::optional<std::string>> read_kernel_file(
    const std::filesystem::path& file);

/// Where a path leads, without links; nullopt when nowhere.
[[nodiscard]] result<std::optional<std::filesystem::path>> resolve(
    const std::filesystem::path& path);

/// The names in a folder, sorted; none when there is no such folder.
[[nodiscard]] result<std::vector<std::string>> names_in(
    const std::filesystem::path& folder);

/// INVALID_STATE for what could not be read, and why (an errno).
[[nodiscard]] fault cannot_read(const std::string& what, int why);

}  // namespace bc::daemon
