#include "actors/registry.hpp"

#include "actors/stream_fold.hpp"
#include "events/event_names.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <spdlog/spdlog.h>

#include <list>
#include <unordered_map>

namespace bc::actors {
namespace {

struct registry_state {
  explicit registry_state(registry_actor::pointer actor) : self(actor) {}
  static inline const char* name = "registry";

  using get_promise = caf::typed_response_promise<answer<any_state>>;
  using quiet_promise = caf::typed_response_promise<answer<void>>;

  struct live {
    stream_actor actor;
    std::list<events::stream_id>::iterator used;
  };

  /// The stream's actor, made when there is none; the stream's kind is known.
  stream_actor& find(const events::stream_id& stream) {
    if (auto found = streams.find(stream); found != streams.end()) {
      by_use.splice(by_use.begin(), by_use, found->second.used);
      return found->second.actor;
    }
    let_go_the_oldest();
    auto each = options.streams;
    each.reader = options.readers[turn++ % options.readers.size()];
    by_use.push_front(stream);
    live made{spawn_stream(self->system(), stream, std::move(each)),
              by_use.begin()};
    return streams.emplace(stream, std::move(made)).first->second.actor;
  }

  void let_go_the_oldest() {
    while (!by_use.empty() && streams.size() >= options.max_live) {
      auto oldest = streams.find(by_use.back());
      self->send(oldest->second.actor, passivate{});
      streams.erase(oldest);
      by_use.pop_back();
    }
  }

  get_promise get(get_state& m) {
    auto reply = self->make_response_promise<answer<any_state>>();
    if (!make_fold(m.stream)) {
      reply.deliver(answer<any_state>{
          fail(errc::internal, "No actor holds such a stream")});
      return reply;
    }
    auto& actor = find(m.stream);
    reply.delegate(actor, std::move(m));
    return reply;
  }

  void publish(const commit_events& fresh) {
    for (std::size_t i = 0; i < fresh->size(); ++i) {
      const auto& e = (*fresh)[i];
      const bool joined = e.type == events::name::node_joined;
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
  std::size_t turn = 0;
  std::size_t outstanding = 0;
  std::vector<quiet_promise> waiting_for_quiet;
};

registry_actor::behavior_type registry(
    registry_actor::stateful_pointer<registry_state> self,
    const registry_options& options) {
  auto& state = self->state;
  state.options = options;
  self->set_exit_handler([self](const caf::exit_msg& m) {
    self->state.end_streams();
    self->quit(m.reason);
  });
  return {
      [&state](get_state& m) { return state.get(m); },
      [&state](const committed& m) { state.publish(m.events); },
      [&state](const sweep_adopting& m) { state.sweep(m.from); },
      [&state](quiesce) { return state.quiet(); },
  };
}

}  // namespace

registry_actor spawn_registry(caf::actor_system& system,
                              registry_options options) {
  return system.spawn(registry, std::move(options));
}

}  // namespace bc::actors
