#include "actors/api_service.hpp"

#include "base/errc.hpp"
#include "base/json.hpp"

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace bc::actors {
namespace {

using service = api_service_actor::pointer;

api_service_actor::behavior_type api_service(service self,
                                             const ledger_actors& others,
                                             const api_flow& flow) {
  auto streams = std::make_shared<actor_ledger<service>>(self, others);
  return {
      [=](api_work& work) {
        const auto request = work.call.request_id;
        try {
          flow(streams, std::move(work.call),
               [ticket = work.ticket](api_reply reply) {
                 ticket->answer(std::move(reply));
               });
        } catch (const std::exception& e) {
          spdlog::error("an API call failed: {} ({})", e.what(), request);
        }
      },
      [](const continuation& c) { c.run(); },
  };
}

}  // namespace

api_service_actor spawn_api_service(caf::actor_system& system,
                                    ledger_actors others, api_flow flow) {
  return system.spawn(api_service, std::move(others), std::move(flow));
}

api_reply no_api_answer(front_door<api_reply>::trouble why,
                        const std::string& request_id) {
  using trouble = front_door<api_reply>::trouble;
  json::writer out;
  out.begin_object().key("error").begin_object();
  out.field("code", wire_text(errc::unavailable));
  out.field("message", why == trouble::stopping ? "the server is stopping"
                       : why == trouble::overloaded
                           ? "the server is overloaded; retry"
                           : "the server lost the call; retry");
  out.field("requestId", request_id);
  out.end_object().end_object();
  return {http_status(errc::unavailable), out.str()};
}

}  // namespace bc::actors
