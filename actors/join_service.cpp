#include "actors/join_service.hpp"

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

daemon_reply unavailable(std::string message) {
  wire::join_answer a;
  a.what = wire::join_answer::kind::failed;
  a.code = errc::unavailable;
  a.message = std::move(message);
  return {wire::http_status(a), wire::encode(a)};
}

void finish(service self, release_pace& pace, join_work work,
            daemon_outcome out) {
  const auto now = self->clock().now();
  const auto step = pace.note(work.arrival, now);
  if (!out.is_held) {
    work.ticket->answer(std::move(out.reply));
    return;
  }
  const auto due = release_at(work.arrival, now, step);
  self->scheduled_send(
      self, due, release_answer{std::move(out.reply), std::move(work.ticket)});
}

join_service_actor::behavior_type join_service(
    service self, const ledger_actors& others, const daemon_flows& flows,
    const std::shared_ptr<release_pace>& pace) {
  auto streams = std::make_shared<actor_ledger<service>>(self, others);
  return {
      [=](join_work& work) {
        const auto flow = flows.find(work.call.what);
        if (flow == flows.end()) {
          work.ticket->answer(
              unavailable("this server does not serve such requests"));
          return;
        }
        auto call = std::move(work.call);
        const auto request = call.correlation;
        try {
          flow->second(streams, std::move(call),
                       [=, work = std::move(work)](daemon_outcome out) {
                         finish(self, *pace, work, std::move(out));
                       });
        } catch (const std::exception& e) {
          spdlog::error("a daemon's request failed: {} ({})", e.what(),
                        request);
        }
      },
      [](const release_answer& due) { due.ticket->answer(due.reply); },
      [](const continuation& c) { c.run(); },
  };
}

}  // namespace

daemon_flow answering(join_flow flow) {
  return [flow = std::move(flow)](std::shared_ptr<ledger> streams,
                                  daemon_call call,
                                  std::function<void(daemon_outcome)> done) {
    flow(std::move(streams), std::move(call),
         [done = std::move(done)](const wire::join_answer& a) {
           done({{wire::http_status(a), wire::encode(a)}, is_refusal(a)});
         });
  };
}

join_service_actor spawn_join_service(caf::actor_system& system,
                                      ledger_actors others, daemon_flows flows,
                                      std::shared_ptr<release_pace> pace) {
  return system.spawn(join_service, std::move(others), std::move(flows),
                      std::move(pace));
}

daemon_reply no_answer(front_door<daemon_reply>::trouble why,
                       const std::string&) {
  using trouble = front_door<daemon_reply>::trouble;
  return unavailable(why == trouble::stopping ? "the server is stopping"
                     : why == trouble::overloaded
                         ? "the server is overloaded; retry"
                         : "the server lost the request; retry");
}

}  // namespace bc::actors
