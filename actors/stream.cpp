#include "actors/stream.hpp"

#include "actors/stream_fold.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace bc::actors {
namespace {

constexpr int follow_up_tries = 3;
constexpr auto follow_up_pause = seconds{1};

struct stream_state {
  explicit stream_state(stream_actor::pointer actor) : self(actor) {}
  static inline const char* name = "stream";

  using get_promise = caf::typed_response_promise<answer<any_state>>;
  using settle_promise = caf::typed_response_promise<answer<void>>;

  void start(events::stream_id id, stream_options o) {
    stream = std::move(id);
    options = std::move(o);
    forget();
  }

  void forget() {
    fold = make_fold(stream);
    current = false;
    unusable.reset();
  }

  // Loading.

  get_promise get() {
    auto reply = self->make_response_promise<answer<any_state>>();
    getters.push_back(reply);
    with_state();
    return reply;
  }

  /// Goes on in loaded() once the fold is at the journal's version.
  void with_state() {
    if (loading)
      return;
    if (current || unusable) {
      loaded();
      return;
    }
    loading = true;
    read_on();
  }

  void read_on() {
    expected = highest;
    self->request(options.reader, caf::infinite,
                  read_page{stream, fold->version(), options.page})
        .then(
            [this](answer<std::vector<events::envelope>>& page) {
              took(page.value);
            },
            [this](const caf::error&) {
              // The reader is gone: to try again would keep the server from
              // its end.
              owes_follow_up = false;
              failed(fail(errc::unavailable, "The server is stopping"));
            });
  }

  void took(const result<std::vector<events::envelope>>& page) {
    if (!page) {
      failed(page.error());
      return;
    }
    for (const auto& e : page.value())
      if (auto applied = fold->apply(e); !applied) {
        give_up_on_stream(applied.error());
        return;
      }
    const bool last_page = page.value().size() < options.page;
    if (last_page && fold->version() < expected) {
      failed(fail(errc::internal, "The journal lost a committed event", {},
                  stream));
      return;
    }
    // A commit that came meanwhile is in the journal already.
    if (!last_page || fold->version() < highest) {
      read_on();
      return;
    }
    loading = false;
    current = true;
    loaded();
  }

  /// Of no use until somebody asks again.
  void failed(const fault& why) {
    loading = false;
    for (auto& g : std::exchange(getters, {}))
      g.deliver(answer<any_state>{fault{why}});
    settled(fault{why});
    if (owes_follow_up)
      self->delayed_send(self, follow_up_pause, try_again{});
    leave_when_idle();
  }

  void give_up_on_stream(const fault& why) {
    spdlog::error("{}: {} ({})", stream, why.message, why.detail);
    loading = false;
    unusable = why;
    loaded();
  }

  void loaded() {
    for (auto& g : std::exchange(getters, {})) {
      if (unusable)
        g.deliver(answer<any_state>{fault{*unusable}});
      else
        g.deliver(answer<any_state>{fold->state()});
    }
    if (owes_follow_up && !appending)
      follow_up();
    leave_when_idle();
  }

  // Commits.

  void take(const events::envelope& e) {
    highest = std::max(highest, e.version);
    // While loading, `highest` makes it read on; a stream's first event
    // needs no loading.
    if (loading || unusable || e.version <= fold->version())
      return;
    if (e.version != fold->version() + 1 || !(current || e.version == 1)) {
      forget();
      return;
    }
    if (auto applied = fold->apply(e); !applied)
      give_up_on_stream(applied.error());
    else
      current = true;
  }

  // What follows from the state.

  settle_promise settle() {
    auto reply = self->make_response_promise<answer<void>>();
    settlers.push_back(reply);
    owes_follow_up = true;
    tries_left = follow_up_tries;
    with_state();
    return reply;
  }

  void settled(result<void> how) {
    for (auto& s : std::exchange(settlers, {}))
      s.deliver(answer<void>{how});
  }

  void follow_up() {
    if (unusable) {
      owes_follow_up = false;
      settled(fault{*unusable});
      return;
    }
    auto todo = fold->follow_up(options.time->now());
    if (!todo)
      spdlog::error("{}: {}", stream, todo.error().message);
    if (!todo || !todo.value()) {
      owes_follow_up = false;
      settled(ok());
      return;
    }
    appending = true;
    self->request(options.writer, caf::infinite,
                  append_batch{std::move(*todo.value()), nullptr})
        .then(
            [this](answer<events::append_outcome>& a) {
              appending = false;
              followed_up(a.value);
            },
            [this](const caf::error&) {
              appending = false;
              owes_follow_up = false;
              settled(fail(errc::unavailable, "The server is stopping"));
              leave_when_idle();
            });
  }

  void followed_up(const result<events::append_outcome>& outcome) {
    if (!outcome) {
      later(outcome.error());
      return;
    }
    if (auto* done = std::get_if<events::appended>(&outcome.value())) {
      for (const auto& e : done->events)
        take(e);
    } else if (--tries_left <= 0) {
      later(fail(errc::unavailable, "The stream keeps moving"));
      return;
    } else {
      forget();
    }
    with_state();
  }

  void later(const fault& why) {
    spdlog::warn("{}: {}; retried", stream, why.message);
    tries_left = follow_up_tries;
    settled(fault{why});
    forget();
    self->delayed_send(self, follow_up_pause, try_again{});
  }

  // Leaving.

  void leave_when_idle() {
    if (leaving && !loading && !appending && !owes_follow_up)
      self->quit();
  }

  stream_actor::pointer self;
  events::stream_id stream;
  stream_options options;
  std::unique_ptr<stream_fold> fold;
  bool current = false;  // the fold is at the journal's version
  bool loading = false;
  bool appending = false;
  bool owes_follow_up = false;
  bool leaving = false;
  int tries_left = 0;
  std::uint64_t highest = 0;   // the newest version heard of
  std::uint64_t expected = 0;  // what the read under way must reach
  std::optional<fault> unusable;
  std::vector<get_promise> getters;
  std::vector<settle_promise> settlers;
};

stream_actor::behavior_type stream_behavior(
    stream_actor::stateful_pointer<stream_state> self,
    const events::stream_id& stream, const stream_options& options) {
  auto& state = self->state;
  state.start(stream, options);
  return {
      [&state](const get_state&) { return state.get(); },
      [&state](const committed_event& m) { state.take((*m.events)[m.index]); },
      [&state](const settle&) { return state.settle(); },
      [&state](try_again) {
        if (state.owes_follow_up)
          state.with_state();
      },
      [&state](passivate) {
        state.leaving = true;
        state.leave_when_idle();
      },
  };
}

}  // namespace

stream_actor spawn_stream(caf::actor_system& system, events::stream_id stream,
                          stream_options options) {
  return system.spawn<caf::lazy_init>(stream_behavior, std::move(stream),
                                      std::move(options));
}

}  // namespace bc::actors
