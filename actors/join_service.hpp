#pragma once

#include "actors/actor_ledger.hpp"
#include "actors/joining/release.hpp"
#include "base/wire.hpp"

#include <functional>
#include <map>
#include <memory>

namespace bc::actors {

/// What a daemon's request comes to.
struct daemon_outcome {
  daemon_reply reply;
  /// A refusal, which is held until release_at() (joining/release.hpp).
  bool is_held = false;
};

/// One kind of request from its body to its outcome, with its environment
/// bound. `done` runs once.
using daemon_flow = std::function<void(std::shared_ptr<ledger>, daemon_call,
                                       std::function<void(daemon_outcome)>)>;
/// What this process serves; another kind is UNAVAILABLE.
using daemon_flows = std::map<daemon_request, daemon_flow>;

/// run_join or run_renew with its environment bound.
using join_flow = std::function<void(std::shared_ptr<ledger>, daemon_call,
                                     std::function<void(wire::join_answer)>)>;
/// Every ACCESS_DENIED of such a flow is held.
[[nodiscard]] daemon_flow answering(join_flow flow);

/// One of the actors that run the daemons' requests. Work is done in the
/// actor's thread. All of a process share one pace.
[[nodiscard]] join_service_actor spawn_join_service(
    caf::actor_system& system, ledger_actors others, daemon_flows flows,
    std::shared_ptr<release_pace> pace);

/// What a request is answered whose flow never ran to its end.
[[nodiscard]] daemon_reply no_answer(front_door<daemon_reply>::trouble why,
                                     const std::string&);

}  // namespace bc::actors
