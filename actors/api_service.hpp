#pragma once

#include "actors/actor_ledger.hpp"

#include <functional>

namespace bc::actors {

/// A call from its body to its answer; run_api_call with its environment
/// bound.
using api_flow = std::function<void(std::shared_ptr<ledger>, api_call,
                                    std::function<void(api_reply)>)>;

/// One of the actors that run API calls.
[[nodiscard]] api_service_actor spawn_api_service(caf::actor_system& system,
                                                  ledger_actors others,
                                                  api_flow flow);

/// What a call is answered whose flow never ran to its end.
[[nodiscard]] api_reply no_api_answer(front_door<api_reply>::trouble why,
                                      const std::string& request_id);

}  // namespace bc::actors
