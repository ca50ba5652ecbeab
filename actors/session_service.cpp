#include "actors/session_service.hpp"

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace bc::actors {
namespace {

using service = session_service_actor::pointer;

session_service_actor::behavior_type session_service(
    service self, const ledger_actors& others,
    const std::shared_ptr<const session_environment>& env) {
  auto streams = std::make_shared<actor_ledger<service>>(self, others);
  return {
      [=](session_work& work) {
        try {
          run_session_call(env, streams, std::move(work.call),
                           [ticket = work.ticket](daemon_reply reply) {
                             ticket->answer(std::move(reply));
                           });
        } catch (const std::exception& e) {
          spdlog::error("a session's call failed: {}", e.what());
        }
      },
      [](const continuation& c) { c.run(); },
  };
}

}  // namespace

session_service_actor spawn_session_service(
    caf::actor_system& system, ledger_actors others,
    std::shared_ptr<const session_environment> env) {
  return system.spawn(session_service, std::move(others), std::move(env));
}

}  // namespace bc::actors
