#pragma once

#include "base/clock.hpp"
#include "daemon/command_kinds.hpp"

#include <filesystem>
#include <optional>

namespace bc::daemon {

/// What the checks look at; a test replaces it.
struct acceptance_tools {
  std::function<result<pki::hardware_claims>()> hardware;
  /// Server's time less the machine's; nullopt: nobody told it yet.
  std::function<std::optional<milliseconds>()> clock_offset;
  std::filesystem::path data_dir;
  /// Whether the gateway answers on a connection of its own.
  std::function<result<void>(const std::stop_token&)> gateway;
};

/// The checks a pool may name in `acceptance.checks`:
/// - `hardware`: the machine's identifiers can be read, and name one machine
/// - `clock`: right within 60 s, by the time the server signed
/// - `data-folder`: on a disk that keeps it over a restart, and written to
/// - `gateway`: it answers on a new connection
[[nodiscard]] std::map<std::string, acceptance_check> acceptance_checks(
    acceptance_tools tools);

/// The folder is on no file system that a restart empties, and a file can be
/// written there. INVALID_STATE in words.
[[nodiscard]] result<void> check_data_folder(
    const std::filesystem::path& folder);

}  // namespace bc::daemon
