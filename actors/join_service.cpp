#include "actors/join_service.hpp"

#include "actors/joining/release.hpp"

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace bc::actors {
namespace {

using service = join_service_actor::pointer;

bool is_refusal(const wire::join_answer& a) {
  return a.what == wire::join_answer::kind::failed &&
         a.code == errc::access_denied;
}

void finish(service self, join_work work, const wire::join_answer& a) {
  join_reply reply{wire::http_status(a), wire::encode(a)};
  if (!is_refusal(a)) {
    work.ticket->answer(std::move(reply));
    return;
  }
  const auto due = release_at(work.arrival, self->clock().now());
  self->scheduled_send(
      self, due, release_answer{std::move(reply), std::move(work.ticket)});
}

join_service_actor::behavior_type join_service(service self,
                                               const ledger_actors& others,
                                               const join_flow& flow) {
  auto streams = std::make_shared<actor_ledger<service>>(self, others);
  return {
      [=](join_work& work) {
        auto call = std::move(work.call);
        try {
          flow(streams, std::move(call),
               [=, work = std::move(work)](const wire::join_answer& a) {
                 finish(self, work, a);
               });
        } catch (const std::exception& e) {
          spdlog::error("a join failed: {}", e.what());
        }
      },
      [](const release_answer& due) { due.ticket->answer(due.reply); },
      [](const continuation& c) { c.run(); },
  };
}

}  // namespace

join_service_actor spawn_join_service(caf::actor_system& system,
                                      ledger_actors others, join_flow flow) {
  return system.spawn(join_service, std::move(others), std::move(flow));
}

join_reply no_answer(front_door<join_reply>::trouble why, const std::string&) {
  using trouble = front_door<join_reply>::trouble;
  wire::join_answer a;
  a.what = wire::join_answer::kind::failed;
  a.code = errc::unavailable;
  a.message = why == trouble::stopping     ? "the server is stopping"
              : why == trouble::overloaded ? "the server is overloaded; retry"
                                           : "the server lost the join; retry";
  return {wire::http_status(a), wire::encode(a)};
}

}  // namespace bc::actors
