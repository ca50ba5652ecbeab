#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/wire_session.hpp"

#include <string_view>
#include <vector>

namespace bc::daemon {

/// Why a command is not carried out, in the order of the checks.
enum class command_fault {
  none,
  signature,  // by none of the command-signing keys this node was given
  form,       // signed, but no command
  node,       // for another node
  expired,
};
[[nodiscard]] std::string_view command_fault_text(command_fault f) noexcept;

struct checked_command {
  command_fault failed = command_fault::none;
  wire::command_body body;  // when nothing failed, or it is expired
};

/// Judges a command by the keys (DER SPKI) that came with the node's
/// certificate. `now` is the corrected clock; a command whose time is up is not
/// carried out, one that comes again is the journal's to know.
[[nodiscard]] checked_command check_command(
    const wire::command& command, const std::vector<bytes>& signing_keys,
    std::string_view node_id, time_point now);

}  // namespace bc::daemon
