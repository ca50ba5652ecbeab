#include "actors/registry.hpp"

#include "actors/stream_fold.hpp"
#include "events/event_names.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <list>
#include <unordered_map>

namespace bc::actors {
namespace {

constexpr auto tidy_every = seconds{5};
constexpr std::size_t most_elsewhere = 100'000;

struct registry_state {
  explicit registry_state(registry_actor::pointer actor) : self(actor) {}
  static inline const char* name = "registry";

  using get_promise = caf::typed_response_promise<answer<any_state>>;
  using quiet_promise = caf::typed_response_promise<answer<void>>;

  struct live {
    stream_actor actor;
    std::list<events::stream_id>::iterator place;
    instant used;
  };

  void start(registry_options o) {
    options = std::move(o);
    last_tailed = now();
  }

  [[nodiscard]] instant now() const { return self->clock().now(); }

  /// The stream's actor, made when there is none; the stream's kind is known.
  stream_actor& find(const events::stream_id& stream) {
    if (auto found = streams.find(stream); found != streams.end()) {
      by_use.splice(by_use.begin(), by_use, found->second.place);
      found->second.used = now();
      return found->second.actor;
    }
    let_go_the_oldest();
    auto each = options.streams;
    each.reader = options.readers[turn++ % options.readers.size()];
    by_use.push_front(stream);
    live made{spawn_stream(self->system(), stream, std::move(each)),
              by_use.begin(), now()};
    keep_tidy();
    return streams.emplace(stream, std::move(made)).first->second.actor;
  }

  void let_go_the_oldest() {
    while (!by_use.empty() && streams.size() >= options.max_live)
      let_go(streams.find(by_use.back()));
  }

  void let_go(std::unordered_map<events::stream_id, live>::iterator one) {
    self->send(one->second.actor, passivate{});
    by_use.erase(one->second.place);
    streams.erase(one);
  }

  // Idle streams leave, and nodes that another process left behind are taken
  // care of.

  void keep_tidy() {
    if (!std::exchange(tidy_is_due, true))
      self->delayed_send(self, tidy_every, tidy{});
  }

  void tidy_up() {
    tidy_is_due = false;
    auto idle = now() - options.passivate_after;
    while (!by_use.empty()) {
      auto oldest = streams.find(by_use.back());
      if (oldest->second.used > idle)
        break;
      let_go(oldest);
    }
    adopt_the_left();
    if (!streams.empty() || !joined_elsewhere.empty())
      keep_tidy();
  }

  void adopt_the_left() {
    auto due = now() - options.adopt_after;
    std::vector<events::stream_id> left;
    for (const auto& [stream, since] : joined_elsewhere)
      if (since <= due)
        left.push_back(stream);
    for (const auto& stream : left) {
      joined_elsewhere.erase(stream);
      poke(find(stream), stream);
    }
  }

  void note_elsewhere(const events::envelope& e) {
    if (e.type == events::name::node_adopted) {
      joined_elsewhere.erase(e.stream);
    } else if (joined_elsewhere.size() < most_elsewhere) {
      joined_elsewhere.emplace(e.stream, now());
      keep_tidy();
    }
  }

  get_promise get(get_state& m) {
    auto reply = self->make_response_promise<answer<any_state>>();
    if (!streams.contains(m.stream) && !make_fold(m.stream)) {
      reply.deliver(answer<any_state>{
          fail(errc::internal, "No actor holds such a stream")});
      return reply;
    }
    // A writer that is held up, or a process that was frozen: what happened
    // elsewhere meanwhile is not known.
    if (options.shared && now() - last_tailed > options.max_staleness)
      m.fresh = true;
    auto& actor = find(m.stream);
    reply.delegate(actor, std::move(m));
    return reply;
  }

  void publish(const commit_events& fresh, bool foreign) {
    for (std::size_t i = 0; i < fresh->size(); ++i) {
      const auto& e = (*fresh)[i];
      const bool joined = e.type == events::name::node_joined && !foreign;
      const bool adopted = e.type == events::name::node_adopted;
      if ((adopted && !joined_elsewhere.empty()) ||
          (foreign && e.type == events::name::node_joined))
        note_elsewhere(e);
      auto found = streams.find(e.stream);
      if (found == streams.end() && !joined)
        continue;
      auto& actor =
          found == streams.end() ? find(e.stream) : found->second.actor;
      self->send(actor, committed_event{fresh, i});
      if (joined)
        poke(actor, e.stream);
    }
  }

  void read_again_of(const events::stream_id& stream) {
    if (stream.empty())
      for (const auto& [id, entry] : streams)
        self->send(entry.actor, read_again{});
    if (auto found = streams.find(stream); found != streams.end())
      self->send(found->second.actor, read_again{});
  }

  void poke(const stream_actor& actor, const events::stream_id& stream) {
    ++outstanding;
    self->request(actor, caf::infinite, settle{stream})
        .then([this](const answer<void>&) { one_less(); },
              [this](const caf::error&) { one_less(); });
  }

  void sweep(const find_adopting& from) {
    ++outstanding;
    self->request(options.readers.front(), caf::infinite, from)
        .then([this](const answer<adopting_page>& page) { swept(page.value); },
              [this](const caf::error&) { one_less(); });
  }

  void swept(const result<adopting_page>& page) {
    if (!page) {
      spdlog::error("nodes left in adopting: {}", page.error().message);
    } else {
      for (const auto& stream : page.value().nodes)
        poke(find(stream), stream);
      // A server that stops leaves the rest to the next start.
      if (page.value().next && waiting_for_quiet.empty())
        sweep(*page.value().next);
    }
    one_less();
  }

  quiet_promise quiet() {
    auto reply = self->make_response_promise<answer<void>>();
    waiting_for_quiet.push_back(reply);
    tell_if_quiet();
    return reply;
  }

  void one_less() {
    --outstanding;
    tell_if_quiet();
  }

  void tell_if_quiet() {
    if (outstanding > 0)
      return;
    for (auto& q : std::exchange(waiting_for_quiet, {}))
      q.deliver(answer<void>{ok()});
  }

  void end_streams() {
    for (auto& [stream, entry] : streams)
      self->send_exit(entry.actor, caf::exit_reason::user_shutdown);
    streams.clear();
    by_use.clear();
  }

  registry_actor::pointer self;
  registry_options options;
  std::unordered_map<events::stream_id, live> streams;
  std::list<events::stream_id> by_use;  // newest first
  /// Nodes that joined through another process, until they are adopted.
  std::unordered_map<events::stream_id, instant> joined_elsewhere;
  bool tidy_is_due = false;
  instant last_tailed;
  std::size_t turn = 0;
  std::size_t outstanding = 0;
  std::vector<quiet_promise> waiting_for_quiet;
};

registry_actor::behavior_type registry(
    registry_actor::stateful_pointer<registry_state> self,
    const registry_options& options) {
  auto& state = self->state;
  state.start(options);
  self->set_exit_handler([self](const caf::exit_msg& m) {
    self->state.end_streams();
    self->quit(m.reason);
  });
  return {
      [&state](get_state& m) { return state.get(m); },
      [&state](const committed& m) { state.publish(m.events, m.foreign); },
      [&state](const stale& m) { state.read_again_of(m.stream); },
      [&state](const tailed& m) {
        state.last_tailed = std::max(state.last_tailed, m.as_of);
      },
      [&state](const sweep_adopting& m) { state.sweep(m.from); },
      [&state](tidy) { state.tidy_up(); },
      [&state](count_live) {
        return answer<std::size_t>{state.streams.size()};
      },
      [&state](quiesce) { return state.quiet(); },
  };
}

}  // namespace

registry_actor spawn_registry(caf::actor_system& system,
                              registry_options options) {
  return system.spawn(registry, std::move(options));
}

}  // namespace bc::actors
