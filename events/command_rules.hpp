#pragma once

#include "events/command.hpp"
#include "events/node.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a command and its node have to do with each other. Pure.
namespace bc::events {

/// Whether the node takes commands of this kind: INVALID_STATE for a retired
/// one, and for a kind that its newest certificate does not allow; NOT_FOUND
/// without a node.
[[nodiscard]] result<void> check_enqueue(const node::state& s,
                                         std::string_view kind);

/// The server's own `acceptance.run` of a node that awaits its acceptance,
/// which began: of each round another id, the same wherever it is asked for.
/// nullopt: nothing is to be run.
[[nodiscard]] std::optional<command_id> acceptance_id(const node::state& s,
                                                      int round);

/// The hardware key a node found, and whether another node holds it.
struct found_hardware {
  std::string key;  // hex, or empty
  bool trusted = false;
  bool taken = false;
  /// For diagnosis (node::record_inventory).
  std::vector<std::string> changed_identifiers = {};
  std::vector<pki::identifier_hash> identifiers = {};
};

/// What follows for the node from a command's outcome: of `inventory.collect`
/// the hardware it found, of `acceptance.run` whether the checks passed. Of a
/// run from before its acceptance began, as of an earlier join: nothing.
[[nodiscard]] result<std::vector<node::event>> decide_outcome(
    const node::state& s, const command::enqueued& command,
    const command::complete& outcome,
    const std::optional<found_hardware>& found);

}  // namespace bc::events
