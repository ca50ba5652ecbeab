#include "actors/refusals.hpp"

#include "actors/refusal_limit.hpp"
#include "events/refusal.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace bc::actors {
namespace {

constexpr auto tick_every = seconds{1};
constexpr auto kept_for = milliseconds{2 * refusal_window};
// Each one of them is another process's event or drop: more than a window
// holds are a store whose clock is far from ours.
constexpr int most_rejections = 100;

/// One limiter: a tenant, an attestor and a reason. At most one request of
/// its own is under way, since each is pinned to the row's version.
struct limited {
  std::string stream;
  /// No more can ever be written at once than the limit.
  std::deque<refusal_report> waiting;
  std::uint64_t drops = 0;  // not in the row yet
  bool drops_due = false;
  bool busy = false;
  bool paused = false;  // until the next tick: the journal has trouble
  std::optional<events::limiter_row> row;
  int rejections = 0;  // in a row
  time_point used;

  /// The event of the first that waits, when its outcome is not known: sent
  /// again as it was, it is written once at most.
  std::optional<events::batch> sent;
  /// Drops whose outcome is not known.
  struct doubt {
    events::limiter_row before;
    std::uint64_t drops = 0;
  };
  std::optional<doubt> unsure;

  [[nodiscard]] bool idle() const {
    return !busy && waiting.empty() && drops == 0;
  }
};

events::refusal::event event_of(const refusal_report& r,
                                std::uint64_t suppressed) {
  std::string reason{events::text_of(r.reason)};
  if (r.attestor == events::refusal::renew_attestor)
    return events::refusal::renew_refused{std::move(reason), r.node, r.serial,
                                          r.csr_sha256, suppressed};
  return events::refusal::refused{r.attestor,   std::move(reason), r.role,
                                  r.csr_sha256, r.hardware_key,    suppressed};
}

struct refusals_state {
  explicit refusals_state(refusal_actor::pointer actor) : self(actor) {}
  static inline const char* name = "refusals";

  using flush_promise = caf::typed_response_promise<answer<void>>;

  [[nodiscard]] time_point now() const { return options.time->now() + skew; }

  void take(refusal_report& r) {
    auto stream =
        events::refusal_stream(r.owner, r.attestor, events::text_of(r.reason));
    auto& e = entries[stream];
    e.stream = std::move(stream);
    e.used = options.time->now();
    if (e.waiting.size() < refusal_limit)
      e.waiting.push_back(std::move(r));
    else
      ++e.drops;
    go_on(e);
    keep_ticking();
  }

  // What one limiter does next, when it may.
  void go_on(limited& e) {
    if (e.busy || e.paused)
      return;
    if (e.waiting.empty() && !(e.drops_due && e.drops > 0))
      return;
    if (e.sent) {
      append_first(e);
      return;
    }
    if (!e.row) {
      read_row(e);
      return;
    }
    resolve_doubt(e);
    if (!e.waiting.empty() && has_room(*e.row, now())) {
      append_first(e);
      return;
    }
    drop_waiting(e);
    if (e.drops_due && e.drops > 0)
      add_drops(e);
  }

  void drop_waiting(limited& e) {
    e.drops += e.waiting.size();
    e.waiting.clear();
  }

  // A row that has not moved got nothing; one that moved once without these
  // drops was moved by another process.
  static void resolve_doubt(limited& e) {
    if (!e.unsure)
      return;
    const auto was = *std::exchange(e.unsure, std::nullopt);
    const bool moved = e.row->version != was.before.version;
    const bool by_another = e.row->version == was.before.version + 1 &&
                            e.row->dropped != was.before.dropped + was.drops;
    if (moved && !by_another)
      e.drops -= was.drops;
  }

  void read_row(limited& e) {
    e.busy = true;
    self->request(options.writer, caf::infinite, read_limiter{e.stream})
        .then(
            [this, &e](answer<events::limiter_row>& a) {
              done_with(e);
              if (!a.value) {
                troubled(e, a.value.error());
                return;
              }
              e.row = std::move(a.value.value());
              proceed(e);
            },
            [this, &e](const caf::error&) { lost(e); });
  }

  void append_first(limited& e) {
    e.busy = true;
    if (!e.sent)
      e.sent = batch_of(e);
    self->request(options.writer, caf::infinite, append_batch{*e.sent, nullptr})
        .then(
            [this, &e](answer<events::append_outcome>& a) {
              done_with(e);
              if (!a.value) {
                if (a.value.error().code == errc::internal)
                  give_up_first(e);
                troubled(e, a.value.error());
                return;
              }
              e.sent.reset();
              if (auto* in = std::get_if<events::appended>(&a.value.value()))
                written(e, *in);
              else
                rejected(e, std::get<events::rejected>(a.value.value()));
            },
            [this, &e](const caf::error&) { lost(e); });
  }

  // It is not in the journal, and would hold up all that wait behind it.
  void give_up_first(limited& e) {
    e.sent.reset();
    e.waiting.pop_front();
    ++e.drops;
  }

  events::batch batch_of(const limited& e) const {
    const auto& r = e.waiting.front();
    events::batch b;
    b.id = pki::mint<batch_id>(options.time->now());
    b.actor = "machine";
    b.correlation = r.correlation;
    b.writes.push_back(
        {e.stream,
         r.owner.str(),
         std::nullopt,
         {events::refusal::encode(event_of(r, e.row->dropped))}});
    b.limiter =
        events::limiter_need{e.stream, e.row->version,
                             static_cast<int>(refusal_limit), refusal_window};
    return b;
  }

  void written(limited& e, const events::appended& in) {
    e.waiting.pop_front();
    e.rejections = 0;
    if (!e.row) {  // it was in doubt
      proceed(e);
      return;
    }
    // The row as the store has it now; if not, the next append is rejected
    // and it is read again.
    ++e.row->version;
    e.row->dropped = 0;
    for (const auto& event : in.events)
      e.row->recent.insert(e.row->recent.begin(), event.time);
    if (e.row->recent.size() > refusal_limit)
      e.row->recent.resize(refusal_limit);
    proceed(e);
  }

  // Another process moved the row, or the store's clock is behind ours.
  void rejected(limited& e, const events::rejected& why) {
    skew = why.time - options.time->now();
    e.row.reset();
    if (++e.rejections >= most_rejections) {
      e.rejections = 0;
      drop_waiting(e);
    }
    proceed(e);
  }

  void add_drops(limited& e) {
    e.busy = true;
    auto count = e.drops;
    auto before = *e.row;
    self->request(options.writer, caf::infinite, add_dropped{e.stream, count})
        .then(
            [this, &e, count, before](answer<events::limiter_row>& a) {
              done_with(e);
              if (!a.value) {
                e.unsure = limited::doubt{before, count};
                troubled(e, a.value.error());
                return;
              }
              e.drops -= count;
              e.drops_due = false;
              e.row = std::move(a.value.value());
              proceed(e);
            },
            [this, &e](const caf::error&) { lost(e); });
  }

  void done_with(limited& e) { e.busy = false; }

  void proceed(limited& e) {
    go_on(e);
    tell_if_flushed();
  }

  // Tried again at the next tick; a flush under way has to do without.
  void troubled(limited& e, const fault& why) {
    spdlog::warn("{}: {} {}", e.stream, wire_text(why.code), why.message);
    e.row.reset();
    e.paused = true;
    for (auto& f : std::exchange(flushes, {}))
      f.deliver(answer<void>{fault{why}});
    keep_ticking();
  }

  void lost(limited& e) {
    done_with(e);
    troubled(e, fail(errc::unavailable, "The server is stopping"));
  }

  // Each second.

  void keep_ticking() {
    if (entries.empty() || std::exchange(ticking, true))
      return;
    self->delayed_send(self, tick_every, tick{});
  }

  void on_tick() {
    ticking = false;
    auto old = options.time->now() - kept_for;
    std::erase_if(entries, [&](const auto& entry) {
      return entry.second.idle() && entry.second.used < old;
    });
    push_all();
    keep_ticking();
  }

  void push_all() {
    for (auto& [stream, e] : entries) {
      e.drops_due = true;
      e.paused = false;
      go_on(e);
    }
  }

  flush_promise flush() {
    auto reply = self->make_response_promise<answer<void>>();
    flushes.push_back(reply);
    push_all();
    tell_if_flushed();
    return reply;
  }

  void tell_if_flushed() {
    if (flushes.empty())
      return;
    for (auto& [stream, e] : entries) {
      // What stopped waiting since is a drop that is due as well.
      e.drops_due = true;
      go_on(e);
    }
    if (!std::ranges::all_of(
            entries, [](const auto& entry) { return entry.second.idle(); }))
      return;
    for (auto& f : std::exchange(flushes, {}))
      f.deliver(answer<void>{ok()});
  }

  refusal_actor::pointer self;
  refusal_options options;
  milliseconds skew{0};  // of the store's clock to ours
  std::unordered_map<std::string, limited> entries;  // by stream
  bool ticking = false;
  std::vector<flush_promise> flushes;
};

refusal_actor::behavior_type refusals(
    refusal_actor::stateful_pointer<refusals_state> self,
    const refusal_options& options) {
  auto& state = self->state;
  state.options = options;
  return {
      [&state](refusal_report& r) { state.take(r); },
      [&state](tick) { state.on_tick(); },
      [&state](flush_refusals) { return state.flush(); },
  };
}

}  // namespace

refusal_actor spawn_refusals(caf::actor_system& system,
                             refusal_options options) {
  return system.spawn(refusals, std::move(options));
}

}  // namespace bc::actors
