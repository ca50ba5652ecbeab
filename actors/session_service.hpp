#pragma once

#include "actors/actor_ledger.hpp"
#include "actors/sessions/session_flow.hpp"

#include <memory>

namespace bc::actors {

/// One of the actors that answer what gateways ask of their sessions, and of
/// the commands to their nodes.
[[nodiscard]] session_service_actor spawn_session_service(
    caf::actor_system& system, ledger_actors others,
    std::shared_ptr<const session_environment> env);

}  // namespace bc::actors
