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

  struct getter {
    get_promise reply;
    bool fresh = false;  // is answered by a read that began after it asked
  };

  void start(events::stream_id id, stream_options o) {
    stream = std::move(id);
    options = std::move(o);
    forget();
  }

  void forget() {
    fold = make_fold(stream);
    current = false;
    unusable.reset();
    snapshot_version = 0;
    snapshot_is_proven = true;
    snapshots_are_asked = !events::has_snapshots(stream);
  }

  /// The fold is never wrong, only behind: a read under way goes on from it.
  void fall_behind() {
    current = false;
    heard_of_more = true;
  }

  // Loading.

  get_promise get(bool fresh) {
    auto reply = self->make_response_promise<answer<any_state>>();
    getters.push_back({reply, fresh});
    with_state();
    return reply;
  }

  /// Goes on in loaded() once the fold is at the journal's version.
  void with_state() {
    if (loading)
      return;
    if (unusable || (current && !must_read())) {
      loaded();
      return;
    }
    loading = true;
    read_on();
  }

  // Another process may have made this stream a moment ago, and told.
  [[nodiscard]] bool may_exist_by_now() const {
    return options.shared && fold->version() == 0;
  }

  [[nodiscard]] bool must_read() const {
    return std::ranges::any_of(getters, &getter::fresh) ||
           (may_exist_by_now() && !getters.empty());
  }

  void read_on() {
    covered = getters.size();
    expected = highest;
    heard_of_more = false;
    auto from = fold->version();
    auto limit = options.page;
    if (!snapshot_is_proven)
      --from;  // its own last event is read with those after it
    else if (from > 0)
      snapshots_are_asked = true;  // one may be older than the fold
    else if (!snapshots_are_asked)
      limit = std::min(limit, options.snapshot_every + 1);
    self->request(options.reader, caf::infinite, read_page{stream, from, limit})
        .then(
            [this, limit](answer<std::vector<events::envelope>>& page) {
              if (!page.value)
                failed(page.value.error());
              else
                took(std::move(page.value.value()), limit);
            },
            [this](const caf::error&) { reader_is_gone(); });
  }

  void reader_is_gone() {
    owes_follow_up = false;  // or the server would not come to its end
    failed(fail(errc::unavailable, "The server is stopping"));
  }

  void took(std::vector<events::envelope> page, std::size_t limit) {
    if (!snapshot_is_proven && !prove_snapshot(page))
      return;
    // So many events that there may be a snapshot of them.
    const bool full = page.size() >= limit;
    if (full && !snapshots_are_asked) {
      ask_for_snapshot(std::move(page));
      return;
    }
    apply(page, full);
  }

  void apply(const std::vector<events::envelope>& page, bool more) {
    for (const auto& e : page)
      if (e.version > fold->version())
        if (auto applied = fold->apply(e); !applied) {
          give_up_on_stream(applied.error());
          return;
        }
    if (!more && fold->version() < expected) {
      failed(fail(errc::internal, "The journal lost a committed event", {},
                  stream));
      return;
    }
    // A commit that came meanwhile is in the journal already.
    if (more || heard_of_more || fold->version() < highest) {
      read_on();
      return;
    }
    loading = false;
    current = true;
    loaded();
  }

  // Snapshots: a cache, never the truth.

  void ask_for_snapshot(std::vector<events::envelope> page) {
    snapshots_are_asked = true;
    self->request(options.reader, caf::infinite, find_snapshot{stream})
        .then(
            [this, page = std::move(page)](
                const answer<std::optional<events::snapshot>>& found) {
              if (found.value && found.value.value() &&
                  restore(*found.value.value()))
                read_on();
              else
                apply(page, true);
            },
            [this](const caf::error&) { reader_is_gone(); });
  }

  bool restore(const events::snapshot& s) {
    if (s.version == 0 || !fold->restore(s)) {
      spdlog::warn("{}: a snapshot of no use, version {}", stream, s.version);
      return false;
    }
    snapshot_version = s.version;
    snapshot_is_proven = false;
    return true;
  }

  // A snapshot of events the journal does not hold is worse than none.
  bool prove_snapshot(const std::vector<events::envelope>& page) {
    snapshot_is_proven =
        !page.empty() && page.front().version == fold->version();
    if (snapshot_is_proven)
      return true;
    spdlog::error("{}: the snapshot at version {} is ahead of the journal",
                  stream, fold->version());
    forget();
    snapshots_are_asked = true;
    read_on();
    return false;
  }

  void save_snapshot() {
    if (saving || fold->version() < snapshot_version + options.snapshot_every)
      return;
    auto taken = fold->to_snapshot();
    if (!taken)
      return;
    saving = true;
    snapshot_version = taken->version;
    self->request(options.reader, caf::infinite,
                  keep_snapshot{stream, std::move(*taken)})
        .then(
            [this](const answer<void>& a) {
              saving = false;
              if (!a.value)
                spdlog::warn("{}: no snapshot: {}", stream,
                             a.value.error().message);
            },
            [this](const caf::error&) { saving = false; });
  }

  /// Of no use until somebody asks again.
  void failed(const fault& why) {
    loading = false;
    for (auto& g : std::exchange(getters, {}))
      g.reply.deliver(answer<any_state>{fault{why}});
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
    answer_getters();
    if (!getters.empty()) {
      loading = true;
      read_on();
      return;
    }
    if (!unusable)
      save_snapshot();
    if (owes_follow_up && !appending)
      follow_up();
    leave_when_idle();
  }

  // Those that asked when the last read was under way are not answered by it
  // if they need a fresh one.
  void answer_getters() {
    std::vector<getter> late;
    for (std::size_t i = 0; i < getters.size(); ++i) {
      auto& g = getters[i];
      if (unusable)
        g.reply.deliver(answer<any_state>{fault{*unusable}});
      else if (i >= covered && (g.fresh || may_exist_by_now()))
        late.push_back(g);
      else
        g.reply.deliver(answer<any_state>{fold->state()});
    }
    getters = std::move(late);
    covered = 0;
  }

  // Commits.

  void take(const events::envelope& e) {
    highest = std::max(highest, e.version);
    // While loading, `highest` makes it read on; a stream's first event
    // needs no loading.
    if (loading || unusable || e.version <= fold->version())
      return;
    // What is between is read when somebody asks.
    current = e.version == fold->version() + 1 && (current || e.version == 1);
    if (!current)
      return;
    if (auto applied = fold->apply(e); !applied)
      give_up_on_stream(applied.error());
    else
      save_snapshot();
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

  void settled_for_good(result<void> how) {
    owes_follow_up = false;
    settled(std::move(how));
  }

  void follow_up() {
    if (unusable)
      return settled_for_good(fault{*unusable});
    auto todo = fold->follow_up(options.time->now());
    if (!todo)
      spdlog::error("{}: {}", stream, todo.error().message);
    if (!todo || !todo.value())
      return settled_for_good(ok());
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
              settled_for_good(
                  fail(errc::unavailable, "The server is stopping"));
              leave_when_idle();
            });
  }

  void followed_up(const result<events::append_outcome>& outcome) {
    if (!outcome)
      return later(outcome.error());
    if (auto* done = std::get_if<events::appended>(&outcome.value())) {
      for (const auto& e : done->events)
        take(e);
    } else if (--tries_left <= 0) {
      return later(fail(errc::unavailable, "The stream keeps moving"));
    } else {
      fall_behind();
    }
    with_state();
  }

  void later(const fault& why) {
    spdlog::warn("{}: {}; retried", stream, why.message);
    tries_left = follow_up_tries;
    settled(fault{why});
    fall_behind();
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
  bool heard_of_more = false;  // since the last read began
  bool saving = false;
  std::uint64_t snapshot_version = 0;  // of the newest one known
  bool snapshot_is_proven = true;      // the journal holds its last event
  bool snapshots_are_asked = false;
  int tries_left = 0;
  std::uint64_t highest = 0;   // the newest version heard of
  std::uint64_t expected = 0;  // what the read under way must reach
  std::optional<fault> unusable;
  std::vector<getter> getters;
  std::size_t covered = 0;  // getters that asked before the last read
  std::vector<settle_promise> settlers;
};

stream_actor::behavior_type stream_behavior(
    stream_actor::stateful_pointer<stream_state> self,
    const events::stream_id& stream, const stream_options& options) {
  auto& state = self->state;
  state.start(stream, options);
  return {
      [&state](const get_state& m) { return state.get(m.fresh); },
      [&state](const committed_event& m) { state.take((*m.events)[m.index]); },
      [&state](const settle&) { return state.settle(); },
      [&state](read_again) { state.fall_behind(); },
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
