#include "actors/session_service.hpp"

#include "actors/commands/command_flow.hpp"

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace bc::actors {
namespace {

using service = session_service_actor::pointer;

auto flow_of(daemon_request what) {
  switch (what) {
    case daemon_request::fetch_commands:
      return run_fetch;
    case daemon_request::command_result:
      return run_result;
    default:
      return run_session_call;
  }
}

session_service_actor::behavior_type session_service(
    service self, const ledger_actors& others,
    const std::shared_ptr<const session_environment>& env) {
  auto streams = std::make_shared<actor_ledger<service>>(self, others);
  return {
      [=](session_work& work) {
        const auto request = work.call.correlation;
        try {
          const auto run = flow_of(work.call.what);
          run(env, streams, std::move(work.call),
              [ticket = work.ticket](daemon_reply reply) {
                ticket->answer(std::move(reply));
              });
        } catch (const std::exception& e) {
          spdlog::error("a session's call failed: {} ({})", e.what(), request);
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
