#pragma once

#include "base/result.hpp"
#include "base/secret_bytes.hpp"

#include <filesystem>

namespace bc::daemon {

/// A small secret that a person put into a file. INVALID_CONFIG naming it for
/// one that cannot be read, is no regular file, is larger than `most` bytes or
/// that others than its owner can read or change.
[[nodiscard]] result<secret_bytes> read_owner_file(
    const std::filesystem::path& file, std::size_t most);

}  // namespace bc::daemon
