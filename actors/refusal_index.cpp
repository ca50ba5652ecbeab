#include "actors/refusal_index.hpp"

#include "actors/refusal_backlog.hpp"
#include "events/refusal_reason.hpp"
#include "pki/digest.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <spdlog/spdlog.h>

#include <utility>

namespace bc::actors {
namespace {

constexpr auto tick_every = seconds{1};

struct index_state {
  explicit index_state(refusal_actor::pointer actor) : self(actor) {}
  static inline const char* name = "refusal-index";

  using flush_promise = caf::typed_response_promise<answer<void>>;

  void take(refusal_report& r) {
    const auto at = options.time->now();
    backlog.add({r.owner.str(), std::move(r.csr_sha256),
                 std::string{events::text_of(r.reason)}, std::move(r.token),
                 std::move(r.attestor), std::move(r.role), at, at, 1,
                 std::move(r.details)});
    keep_ticking();
  }

  void keep_ticking() {
    if (backlog.empty() || std::exchange(ticking, true))
      return;
    self->delayed_send(self, tick_every, tick{});
  }

  void on_tick() {
    ticking = false;
    write();
    say_dropped();
    keep_ticking();
  }

  void write() {
    auto batch = backlog.next(pki::mint<batch_id>(options.time->now()));
    if (!batch)
      return;
    self->request(options.store, caf::infinite,
                  keep_refusals{std::move(batch->id), batch->refused})
        .then([this](const answer<void>& a) { answered(a.value); },
              [this](const caf::error&) {
                answered(fail(errc::unavailable, "The server is stopping"));
              });
  }

  void answered(const result<void>& done) {
    if (done) {
      backlog.written();
      go_on_flushing();
      return;
    }
    const auto& why = done.error();
    spdlog::warn("refusal index: {} {}", wire_text(why.code), why.message);
    // What the store cannot hold would hold up all that wait behind it.
    if (why.code == errc::internal)
      backlog.give_up();
    else
      backlog.lost();
    for (auto& f : std::exchange(flushes, {}))
      f.deliver(answer<void>{fault{why}});
    keep_ticking();
  }

  void say_dropped() {
    const auto all = backlog.dropped();
    if (all != said)
      spdlog::warn("refusal index: {} refusals are not in it", all - said);
    said = all;
  }

  flush_promise flush() {
    auto reply = self->make_response_promise<answer<void>>();
    flushes.push_back(reply);
    go_on_flushing();
    return reply;
  }

  void go_on_flushing() {
    if (flushes.empty())
      return;
    write();
    if (!backlog.empty())
      return;
    for (auto& f : std::exchange(flushes, {}))
      f.deliver(answer<void>{ok()});
  }

  refusal_actor::pointer self;
  refusal_index_options options;
  refusal_backlog backlog;
  std::uint64_t said = 0;  // of those dropped
  bool ticking = false;
  std::vector<flush_promise> flushes;
};

refusal_actor::behavior_type refusal_index(
    refusal_actor::stateful_pointer<index_state> self,
    const refusal_index_options& options) {
  auto& state = self->state;
  state.options = options;
  return {
      [&state](refusal_report& r) { state.take(r); },
      [&state](tick) { state.on_tick(); },
      [&state](flush_refusals) { return state.flush(); },
  };
}

}  // namespace

refusal_actor spawn_refusal_index(caf::actor_system& system,
                                  refusal_index_options options) {
  return system.spawn(refusal_index, std::move(options));
}

}  // namespace bc::actors
