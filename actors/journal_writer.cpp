#include "actors/journal_writer.hpp"

#include "actors/guarded.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <deque>

namespace bc::actors {
namespace {

using events::append_outcome;
using outcome_promise = caf::typed_response_promise<answer<append_outcome>>;

constexpr std::size_t read_limit = 1000;
constexpr int most_pages = 4;  // read before what waits is appended
constexpr auto catch_up_pause = seconds{1};
// What was tailed that long ago counts for gateways (gateway/relay_server.cpp):
// a store that is back before then costs no session.
constexpr auto news_last = seconds{2};

struct writer_state {
  explicit writer_state(writer_actor::pointer actor) : self(actor) {}
  static inline const char* name = "journal-writer";

  struct waiting_batch {
    pass admitted;
    outcome_promise reply;
    instant since;
  };

  [[nodiscard]] instant now() const { return self->clock().now(); }

  void start(writer_options o) {
    options = std::move(o);
    shared = options.journal->is_shared();
    learn_head();
    if (shared)
      self->delayed_send(self, options.poll_every, poll_store{});
  }

  // Streams may have been loaded before the head was known.
  void hear_of(const registry_actor& who) {
    registry = who;
    if (shared && knows_head)
      self->send(registry, stale{});
  }

  // What was written before is nobody's news.
  bool learn_head() {
    auto began = now();
    auto head = guarded([&] { return options.journal->head(); });
    if (head) {
      begin_after(head.value().position);
      tell_tailed(began);
    } else {
      say_if_news(head.error().message + " " + head.error().detail);
    }
    return knows_head;
  }

  void begin_after(std::uint64_t position) {
    published = position;
    knows_head = true;
    if (shared && registry)
      self->send(registry, stale{});
  }

  outcome_promise enqueue(append_batch& request) {
    auto reply = self->make_response_promise<answer<append_outcome>>();
    batches.push_back(std::move(request.what));
    waiting.push_back(
        {std::move(request.admitted), reply, request.asked.value_or(now())});
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
    refuse_the_late();
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

    auto began = now();
    auto outcomes = commit(group);
    publish(outcomes, began);
    for (std::size_t i = 0; i < askers.size(); ++i)
      askers[i].reply.deliver(answer<append_outcome>{std::move(outcomes[i])});
    if (!batches.empty())
      ask_for_flush();
  }

  // A store that is away blocks each group for a while: what waited through
  // one of them does not wait through all (case 179).
  void refuse_the_late() {
    if (!store_is_away)
      return;
    auto late = now() - options.longest_wait;
    while (!waiting.empty() && waiting.front().since <= late) {
      waiting.front().reply.deliver(answer<append_outcome>{
          fail(errc::unavailable, "The journal cannot be written now; retry")});
      waiting.pop_front();
      batches.pop_front();
    }
  }

  std::vector<result<append_outcome>> commit(
      const std::vector<events::batch>& group) {
    const auto began = std::chrono::steady_clock::now();
    auto done = commit_group(*options.journal, group, options.commit);
    if (options.measured) {
      const std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - began;
      options.measured->append_batches.add(static_cast<double>(group.size()));
      options.measured->append_seconds.add(took.count());
    }
    store_is_away = done.store_is_away;
    if (done.is_unsure)
      fall_behind();
    return std::move(done.outcomes);
  }

  // Publishing.

  void publish(const std::vector<result<append_outcome>>& outcomes,
               instant began) {
    auto fresh = std::make_shared<std::vector<events::envelope>>();
    for (const auto& o : outcomes)
      if (o.has_value())
        if (auto* done = std::get_if<events::appended>(&o.value()))
          for (const auto& e : done->events)
            if (e.position > published)  // not a batch that came again
              fresh->push_back(e);
    if (!fresh->empty() && publish_own(std::move(fresh)))
      tell_tailed(began);
    refresh_rejected(outcomes);
  }

  /// True when everything up to these events has been handed out.
  bool publish_own(std::shared_ptr<std::vector<events::envelope>> fresh) {
    if (!knows_head)
      begin_after(fresh->front().position - 1);
    read_unpublished(fresh->front().position - 1);
    auto next = published;
    if (std::ranges::all_of(
            *fresh, [&](const auto& e) { return e.position == ++next; })) {
      hand_out(fresh, false);
      return true;
    }
    auto last = std::ranges::max(*fresh, {}, &events::envelope::position);
    read_unpublished(last.position);
    if (published < last.position)
      fall_behind();
    else if (!shared)
      return true;
    // The actors hear of these now, because their askers do; of all of them,
    // in order, when the journal can be read.
    if (registry)
      self->send(registry, committed{std::move(fresh), false});
    return published >= last.position;
  }

  // Who is rejected tries again on what is known then.
  void refresh_rejected(const std::vector<result<append_outcome>>& outcomes) {
    auto is_rejected = [](const auto& o) {
      auto* no = o ? std::get_if<events::rejected>(&o.value()) : nullptr;
      return no != nullptr && no->why != events::unmet::limiter &&
             no->why != events::unmet::expired;
    };
    if ((!shared && !behind) || std::ranges::none_of(outcomes, is_rejected))
      return;
    if (catch_up_now() || !registry)
      return;
    for (const auto& o : outcomes)
      if (is_rejected(o))
        if (auto of = stream_of(std::get<events::rejected>(o.value())))
          self->send(registry, stale{std::move(*of)});
  }

  /// The stream that had moved.
  static std::optional<events::stream_id> stream_of(
      const events::rejected& no) {
    if (no.holder)
      return no.holder->stream;
    if (no.why == events::unmet::version || no.why == events::unmet::budget)
      return no.subject;
    return std::nullopt;
  }

  enum class page { full, last, none };

  // One page of what an unknown outcome, or another process, wrote.
  page read_one_page(std::size_t limit) {
    if (!knows_head)
      return learn_head() ? page::last : page::none;
    auto rows =
        guarded([&] { return options.journal->read_all(published, limit); });
    auto next = published;
    if (rows && !std::ranges::all_of(rows.value(), [&](const auto& e) {
          return e.position == ++next;
        }))
      rows = fail(errc::internal, "The journal has a hole", {},
                  "after position " + std::to_string(published));
    say_if_news(rows ? std::string{}
                     : rows.error().message + " " + rows.error().detail);
    if (!rows)
      return page::none;
    auto size = rows.value().size();
    if (size > 0)
      hand_out(std::make_shared<std::vector<events::envelope>>(
                   std::move(rows.value())),
               shared);
    return size < limit ? page::last : page::full;
  }

  void read_unpublished(std::uint64_t until) {
    for (int i = 0; i < most_pages && published < until; ++i)
      if (read_one_page(std::min<std::size_t>(read_limit, until - published)) !=
          page::full)
        return;
  }

  /// True when everything up to the head has been handed out.
  bool catch_up_now() {
    auto began = now();
    for (int i = 0; i < most_pages; ++i) {
      auto got = read_one_page(read_limit);
      if (got == page::none)
        return false;
      if (got == page::last) {
        behind = false;
        tell_tailed(began);
        return true;
      }
    }
    return false;
  }

  void say_if_news(std::string trouble) {
    if (!trouble.empty() && trouble != reading_trouble)
      spdlog::error("journal tail: {}", trouble);
    reading_trouble = std::move(trouble);
  }

  void tell_tailed(instant as_of) {
    tailed_at = as_of;
    if (shared && options.on_tailed)
      options.on_tailed(as_of);
    if (shared && registry)
      self->send(registry, tailed{as_of});
  }

  void hand_out(const std::shared_ptr<std::vector<events::envelope>>& fresh,
                bool foreign) {
    published = fresh->back().position;
    // First the streams: who is told of an event and asks about it finds it.
    if (registry)
      self->send(registry, committed{fresh, foreign});
    if (options.on_event)
      for (const auto& e : *fresh)
        try {
          options.on_event(e);
        } catch (const std::exception& error) {
          spdlog::error("event {}: {}", e.position, error.what());
        }
  }

  // Something may be in the journal that nobody was told.
  void fall_behind() {
    behind = true;
    if (!std::exchange(catch_up_is_due, true))
      self->delayed_send(self, catch_up_pause, catch_up{});
  }

  void publish_missed() {
    catch_up_is_due = false;
    if (behind && !catch_up_now())
      fall_behind();
  }

  // Own batches first, and one page at a time: a flood from another process
  // holds up nothing of this one.
  void poll() {
    flush();
    auto began = now();
    auto got = read_one_page(read_limit);
    if (got == page::full) {
      self->send(self, poll_store{});
      return;
    }
    if (got == page::last) {
      behind = false;
      tell_tailed(began);
    }
    auto pause = options.poll_every;
    if (got == page::none && now() - tailed_at > news_last)
      pause = std::max<milliseconds>(pause, catch_up_pause);
    self->delayed_send(self, pause, poll_store{});
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
  bool shared = false;  // other processes append too
  bool behind = false;  // events may be in the journal that nobody was told
  bool catch_up_is_due = false;
  bool store_is_away = false;  // said the last append
  std::string reading_trouble;
  instant tailed_at{};
  bool knows_head = false;
  std::uint64_t published = 0;  // position of the last event handed out
};

writer_actor::behavior_type journal_writer(
    writer_actor::stateful_pointer<writer_state> self,
    const writer_options& options) {
  auto& state = self->state;
  state.start(options);
  return {
      [&state](const publish_to<registry_actor>& m) {
        state.hear_of(m.registry);
      },
      [&state](append_batch& m) { return state.enqueue(m); },
      [&state](const read_limiter& m) { return state.row_of(m.stream); },
      [&state](const add_dropped& m) { return state.drop(m); },
      [&state](flush_group) { state.flush(); },
      [&state](catch_up) { state.publish_missed(); },
      [&state](poll_store) { state.poll(); },
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
