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

caf::actor_system_config& for_testing(caf::actor_system_config& c);

/// Actors on a scheduler that runs when told to, with virtual time, over a
/// journal in memory.
class actor_fixture {
 public:
  actor_fixture();

  ~actor_fixture();

  /// Ended with the fixture, so that the actor system can be.
  template <class Actor>
  Actor own(Actor actor) {
    ends_.push_back([actor] {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    });
    return actor;
  }

  void run();

  void advance(milliseconds by);

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

  result<events::append_outcome> append(events::batch b);

  /// A writer, readers and a registry as the runtime has them.
  void start(std::size_t max_live = 100, std::size_t page = 1000);

  actors::writer_actor new_writer();

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
