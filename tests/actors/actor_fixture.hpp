#pragma once

#include "actors/journal_reader.hpp"
#include "actors/journal_writer.hpp"
#include "actors/registry.hpp"
#include "base/fault_point.hpp"
#include "events/memory_journal.hpp"
#include "tests/actors/watched_journal.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_actor.hpp>
#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace bc::test {

inline caf::actor_system_config& for_testing(caf::actor_system_config& c) {
  c.set("scheduler.policy", caf::atom("testing"));
  return c;
}

/// Actors on a scheduler that runs when told to, with virtual time, over a
/// journal in memory.
class actor_fixture {
 public:
  actor_fixture() { disarm_all(); }

  ~actor_fixture() {
    disarm_all();
    for (auto& end : ends_)
      end();
    run();
    sched.trigger_timeouts();
    run();
  }

  /// Ended with the fixture, so that the actor system can be.
  template <class Actor>
  Actor own(Actor actor) {
    ends_.push_back([actor] {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    });
    return actor;
  }

  void run() { sched.run(); }

  void advance(milliseconds by) {
    time.advance(by);
    sched.advance_time(by);
    run();
  }

  /// Asks, lets everything run, and answers what came back.
  template <class T, class Actor, class Request>
  result<T> ask(const Actor& whom, Request request) {
    std::optional<result<T>> got;
    auto waiting = self->request(whom, caf::infinite, std::move(request));
    run();
    waiting.receive(
        [&](actors::answer<T>& a) { got = std::move(a.value); },
        [&](const caf::error&) { got = fail(errc::internal, "no answer"); });
    return std::move(*got);
  }

  result<events::append_outcome> append(events::batch b) {
    return ask<events::append_outcome>(
        writer, actors::append_batch{std::move(b), nullptr});
  }

  /// A writer, readers and a registry as the runtime has them.
  void start(std::size_t max_live = 100, std::size_t page = 1000) {
    writer = new_writer();
    actors::registry_options o;
    auto reader = own(actors::spawn_journal_reader(
        system, {&journal, queries, actors::threading::shared}));
    o.readers = {reader};
    o.streams = {writer, reader, &time, page};
    o.max_live = max_live;
    o.shared = o.streams.shared = journal.is_shared();
    registry = own(actors::spawn_registry(system, std::move(o)));
    caf::anon_send(writer,
                   actors::publish_to<actors::registry_actor>{registry});
    run();
  }

  actors::writer_actor new_writer() {
    actors::writer_options o;
    o.journal = &journal;
    o.on_event = [this](const events::envelope& e) { published.push_back(e); };
    o.commit.lookup_pause = milliseconds{0};
    o.poll_every = poll_every;
    o.thread = actors::threading::shared;
    return own(actors::spawn_journal_writer(system, std::move(o)));
  }

  manual_clock time{from_millis(1'790'000'000'000)};
  std::unique_ptr<events::journal> store = events::make_memory_journal(time);
  watched_journal journal{*store};
  projections::queries* queries = nullptr;
  milliseconds poll_every{200};
  std::vector<events::envelope> published;
  caf::actor_system_config config;
  caf::actor_system system{for_testing(config)};
  caf::scheduler::test_coordinator& sched =
      dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  caf::scoped_actor self{system};
  actors::writer_actor writer;
  actors::registry_actor registry;

 private:
  std::vector<std::function<void()>> ends_;
};

}  // namespace bc::test
