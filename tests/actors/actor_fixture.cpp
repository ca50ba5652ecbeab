#include "tests/actors/actor_fixture.hpp"

namespace bc::test {

caf::actor_system_config& for_testing(caf::actor_system_config& c) {
  c.set("scheduler.policy", caf::atom("testing"));
  return c;
}

actor_fixture::actor_fixture() {
  disarm_all();
}

actor_fixture::~actor_fixture() {
  disarm_all();
  for (auto& end : ends_)
    end();
  run();
  sched.trigger_timeouts();
  run();
}

void actor_fixture::run() {
  sched.run();
}

void actor_fixture::advance(milliseconds by) {
  time.advance(by);
  sched.advance_time(by);
  run();
}

result<events::append_outcome> actor_fixture::append(events::batch b) {
  return ask<events::append_outcome>(
      writer, actors::append_batch{std::move(b), nullptr});
}

void actor_fixture::start(std::size_t max_live, std::size_t page) {
  writer = new_writer();
  actors::registry_options o;
  auto reader = own(actors::spawn_journal_reader(
      system, {&journal, queries, actors::threading::shared}));
  o.readers = {reader};
  o.streams = {writer, reader, &time, page};
  o.max_live = max_live;
  o.shared = o.streams.shared = journal.is_shared();
  registry = own(actors::spawn_registry(system, std::move(o)));
  caf::anon_send(writer, actors::publish_to<actors::registry_actor>{registry});
  run();
}

actors::writer_actor actor_fixture::new_writer() {
  actors::writer_options o;
  o.journal = &journal;
  o.on_event = [this](const events::envelope& e) { published.push_back(e); };
  o.commit.lookup_pause = milliseconds{0};
  o.poll_every = poll_every;
  o.thread = actors::threading::shared;
  return own(actors::spawn_journal_writer(system, std::move(o)));
}

}  // namespace bc::test
