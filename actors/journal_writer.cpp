#include "actors/journal_writer.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <deque>
#include <thread>

namespace bc::actors {
namespace {

using events::append_outcome;
using outcome_promise = caf::typed_response_promise<answer<append_outcome>>;

constexpr std::size_t read_limit = 1000;
constexpr auto catch_up_pause = seconds{1};

fault broken(const char* what) {
  return fail(errc::internal, "The journal failed", {}, what);
}

/// No exception of a store's passes this line.
template <class F>
auto guarded(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& e) {
    return broken(e.what());
  }
}

struct writer_state {
  explicit writer_state(writer_actor::pointer actor) : self(actor) {}
  static inline const char* name = "journal-writer";

  struct waiting_batch {
    pass admitted;
    outcome_promise reply;
  };

  void start(writer_options o) {
    options = std::move(o);
    auto head = guarded([&] { return options.journal->head(); });
    if (head)
      published = head.value().position;
    else
      spdlog::error("journal head: {}", head.error().detail);
  }

  outcome_promise enqueue(append_batch& request) {
    auto reply = self->make_response_promise<answer<append_outcome>>();
    batches.push_back(std::move(request.what));
    waiting.push_back({std::move(request.admitted), reply});
    ask_for_flush();
    return reply;
  }

  // The message comes behind every batch that already waits in the mailbox,
  // and so they make one group.
  void ask_for_flush() {
    if (std::exchange(flush_is_due, true))
      return;
    self->send(self, flush_group{});
  }

  void flush() {
    flush_is_due = false;
    auto size = std::min(batches.size(), options.max_group);
    if (size == 0)
      return;
    std::vector<events::batch> group{
        std::make_move_iterator(batches.begin()),
        std::make_move_iterator(batches.begin() + static_cast<long>(size))};
    batches.erase(batches.begin(), batches.begin() + static_cast<long>(size));
    std::vector<waiting_batch> askers{
        std::make_move_iterator(waiting.begin()),
        std::make_move_iterator(waiting.begin() + static_cast<long>(size))};
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<long>(size));

    auto outcomes = commit(group);
    publish(outcomes);
    for (std::size_t i = 0; i < askers.size(); ++i)
      askers[i].reply.deliver(answer<append_outcome>{std::move(outcomes[i])});
    if (!batches.empty())
      ask_for_flush();
  }

  std::vector<result<append_outcome>> commit(
      const std::vector<events::batch>& group) {
    std::vector<result<append_outcome>> outcomes;
    outcomes.reserve(group.size());
    auto done = guarded([&] { return options.journal->append(group); });
    if (done && done.value().size() == group.size()) {
      for (auto& outcome : done.value())
        outcomes.emplace_back(std::move(outcome));
      return outcomes;
    }
    auto why = done ? broken("an append answered another number of outcomes")
                    : std::move(done.error());
    spdlog::error("journal append of {} batches: {} {} {}", group.size(),
                  wire_text(why.code), why.message, why.detail);
    int tries = options.lookup_tries;
    for (const auto& b : group)
      outcomes.push_back(look_up(b, why, tries));
    return outcomes;
  }

  // All batches of a group share the tries: a store that is down is asked no
  // longer for a large group than for a small one.
  result<append_outcome> look_up(const events::batch& b, const fault& why,
                                 int& tries) {
    if (!b.has_events())
      return fault{why};
    while (tries > 0) {
      auto found = guarded([&] { return options.journal->outcome(b.id); });
      if (found && found.value())
        return append_outcome{std::move(*found.value())};
      if (found)
        return fault{why};
      if (--tries > 0)
        std::this_thread::sleep_for(options.lookup_pause);
    }
    catch_up_is_due = true;
    return fail(errc::unavailable, "The outcome is not known; retry", {},
                "batch " + b.id.str());
  }

  void publish(const std::vector<result<append_outcome>>& outcomes) {
    auto fresh = std::make_shared<std::vector<events::envelope>>();
    for (const auto& o : outcomes)
      if (o.has_value())
        if (auto* done = std::get_if<events::appended>(&o.value()))
          for (const auto& e : done->events)
            if (e.position > published)  // not a batch that came again
              fresh->push_back(e);
    if (!fresh->empty())
      publish_events(std::move(fresh));
    if (std::exchange(catch_up_is_due, false))
      self->delayed_send(self, catch_up_pause, catch_up{});
  }

  void publish_events(std::shared_ptr<std::vector<events::envelope>> fresh) {
    auto next = published;
    if (std::ranges::all_of(
            *fresh, [&](const auto& e) { return e.position == ++next; })) {
      hand_out(std::move(fresh));
      return;
    }
    auto last = std::ranges::max(*fresh, {}, &events::envelope::position);
    read_unpublished(last.position);
    if (published >= last.position)
      return;
    // The actors hear of these now, because their askers do; of all of them,
    // in order, when the journal can be read.
    catch_up_is_due = true;
    if (registry)
      self->send(registry, committed{std::move(fresh)});
  }

  // What a commit of unknown outcome, or another process, wrote.
  void read_unpublished(std::uint64_t until) {
    while (published < until) {
      auto page = guarded([&] {
        return options.journal->read_all(
            published, std::min<std::size_t>(read_limit, until - published));
      });
      if (!page || page.value().empty())
        return;
      hand_out(std::make_shared<std::vector<events::envelope>>(
          std::move(page.value())));
    }
  }

  void hand_out(std::shared_ptr<std::vector<events::envelope>> fresh) {
    if (options.on_event)
      for (const auto& e : *fresh)
        try {
          options.on_event(e);
        } catch (const std::exception& error) {
          spdlog::error("event {}: {}", e.position, error.what());
        }
    published = fresh->back().position;
    if (registry)
      self->send(registry, committed{std::move(fresh)});
  }

  void publish_missed() {
    auto head = guarded([&] { return options.journal->head(); });
    if (!head) {
      self->delayed_send(self, catch_up_pause, catch_up{});
      return;
    }
    read_unpublished(head.value().position);
    if (published < head.value().position)
      self->delayed_send(self, catch_up_pause, catch_up{});
  }

  answer<events::limiter_row> row_of(const std::string& stream) {
    return {guarded([&] { return options.journal->read_limiter(stream); })};
  }

  answer<events::limiter_row> drop(const add_dropped& request) {
    auto done = guarded([&] {
      return options.journal->add_dropped(request.stream, request.count);
    });
    if (!done)
      return {std::move(done.error())};
    // A fault from here on must not look as if nothing was added.
    auto row = row_of(request.stream);
    return row.value ? std::move(row)
                     : answer<events::limiter_row>{events::limiter_row{}};
  }

  writer_actor::pointer self;
  writer_options options;
  registry_actor registry;
  std::deque<events::batch> batches;
  std::deque<waiting_batch> waiting;  // one for each of `batches`
  bool flush_is_due = false;
  bool catch_up_is_due = false;
  std::uint64_t published = 0;  // position of the last event handed out
};

writer_actor::behavior_type journal_writer(
    writer_actor::stateful_pointer<writer_state> self,
    const writer_options& options) {
  auto& state = self->state;
  state.start(options);
  return {
      [&state](const publish_to<registry_actor>& m) {
        state.registry = m.registry;
      },
      [&state](append_batch& m) { return state.enqueue(m); },
      [&state](const read_limiter& m) { return state.row_of(m.stream); },
      [&state](const add_dropped& m) { return state.drop(m); },
      [&state](flush_group) { state.flush(); },
      [&state](catch_up) { state.publish_missed(); },
  };
}

}  // namespace

writer_actor spawn_journal_writer(caf::actor_system& system,
                                  writer_options options) {
  if (options.thread == threading::detached)
    return system.spawn<caf::detached>(journal_writer, std::move(options));
  return system.spawn(journal_writer, std::move(options));
}

}  // namespace bc::actors
