#pragma once

#include "actors/sessions/session_flow.hpp"

#include <functional>
#include <memory>

/// What a gateway asks about the commands of a node that has a session there
/// (base/wire_session.hpp). No CAF: effects go through the ledger. `done` runs
/// once. Who holds no live certificate of the node is refused (403).
namespace bc::actors {

/// At most so many in one answer; the others follow when these have their
/// outcomes.
inline constexpr std::size_t most_fetched = 16;

/// `fetch_commands`: what waits for the node and its certificate allows, signed
/// by the command-signing key, the oldest first. Each is sent again until it
/// has an outcome. Where acceptance has begun, its run is enqueued here.
void run_fetch(std::shared_ptr<const session_environment> env,
               std::shared_ptr<ledger> streams, daemon_call call,
               std::function<void(daemon_reply)> done);

/// `command_result`: the first outcome is appended, with what follows from it
/// for the node; a later one is answered alike and changes nothing. 404 for
/// what is no command of this node.
void run_result(std::shared_ptr<const session_environment> env,
                std::shared_ptr<ledger> streams, daemon_call call,
                std::function<void(daemon_reply)> done);

}  // namespace bc::actors
