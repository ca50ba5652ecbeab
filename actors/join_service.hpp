#pragma once

#include "actors/actor_ledger.hpp"

#include <functional>

namespace bc::actors {

/// A join from its body to its answer; run_join with its environment bound.
using join_flow = std::function<void(std::shared_ptr<ledger>, join_call,
                                     std::function<void(wire::join_answer)>)>;

/// One of the actors that run joins. A refusal is held until release_at()
/// (joining/release.hpp).
[[nodiscard]] join_service_actor spawn_join_service(caf::actor_system& system,
                                                    ledger_actors others,
                                                    join_flow flow);

/// What a join is answered whose flow never ran to its end.
[[nodiscard]] join_reply no_answer(front_door<join_reply>::trouble why,
                                   const std::string&);

}  // namespace bc::actors
