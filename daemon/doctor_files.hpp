#pragma once

#include "daemon/config.hpp"
#include "daemon/doctor.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

/// What the doctor sees on the machine's disk.
namespace bc::daemon {

/// "0644".
[[nodiscard]] std::string octal(mode_t mode);

/// The check `join-key`: a machine that has joined can do without.
[[nodiscard]] finding judge_join_key(const config& c, bool has_joined);
/// The check `files`: the folder and what is in it are its owner's alone;
/// nullopt where there is no folder, and none is missed (`absent`).
[[nodiscard]] std::optional<finding> judge_files(
    const std::filesystem::path& folder, bool absent);
/// Why a new key could not be written there; nullopt: it could.
[[nodiscard]] std::optional<finding> judge_room(
    const std::filesystem::path& folder);

}  // namespace bc::daemon
