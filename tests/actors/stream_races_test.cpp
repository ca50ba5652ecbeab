// What happens to a stream's actor while it reads or appends (spec: DESIGN 3).

#include "actors/stream.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/actors/sample_events.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

namespace bc::test {
namespace {

using actors::any_state;
using actors::shared_state;

/// Requests whose answers come when the test says so.
template <class T>
class held_answers {
 public:
  using promise = caf::typed_response_promise<actors::answer<T>>;

  promise hold(promise reply, std::function<result<T>()> make) {
    held_.push_back({reply, std::move(make)});
    return reply;
  }
  void release() {
    for (auto& [reply, make] : std::exchange(held_, {}))
      reply.deliver(actors::answer<T>{make()});
  }
  [[nodiscard]] std::size_t size() const { return held_.size(); }

 private:
  std::vector<std::pair<promise, std::function<result<T>()>>> held_;
};

using page = std::vector<events::envelope>;
/// The interfaces with one message more: the answers may go.
using held_reader = actors::reader_actor::extend<caf::reacts_to<caf::ok_atom>>;
using held_writer = actors::writer_actor::extend<caf::reacts_to<caf::ok_atom>>;

/// One stream between a reader that answers late with what it read in time,
/// and a writer that appends late.
class held_stream_fixture : public actor_fixture {
 public:
  held_stream_fixture() {
    late_reader = own(system.spawn(
        [this](held_reader::pointer me) -> held_reader::behavior_type {
          return read_late(me);
        }));
    late_writer = own(system.spawn(
        [this](held_writer::pointer me) -> held_writer::behavior_type {
          return write_late(me);
        }));
    stream = own(actors::spawn_stream(system, node_stream,
                                      {late_writer, late_reader, &time, 1000}));
  }

  void store_event(events::event_write e) {
    auto b = batch_of(node_stream, std::move(e));
    REQUIRE(store->append(std::span<const events::batch>{&b, 1}).has_value());
  }

  void release_reads() {
    caf::anon_send(late_reader, caf::ok_atom::value);
    run();
  }
  void release_appends() {
    caf::anon_send(late_writer, caf::ok_atom::value);
    run();
  }

  events::event_write adopted_elsewhere() const {
    return events::node::encode(events::node::adopted{node, sample_time});
  }

  node_id node = some_id<node_id>();
  events::stream_id node_stream = events::stream_of(node);
  held_answers<page> reads;
  held_answers<events::append_outcome> appends;
  held_reader late_reader;
  held_writer late_writer;
  actors::stream_actor stream;

 private:
  held_reader::behavior_type read_late(held_reader::pointer me) {
    return {
        [this, me](const actors::read_page& m) {
          auto read = journal.read_stream(m.stream, m.after_version, m.limit);
          return reads.hold(me->make_response_promise<actors::answer<page>>(),
                            [read = std::move(read)] { return read; });
        },
        [this](const actors::find_snapshot& m) {
          return actors::answer<std::optional<events::snapshot>>{
              journal.load_snapshot(m.stream)};
        },
        [this](const actors::keep_snapshot& m) {
          return actors::answer<void>{journal.save_snapshot(m.stream, m.what)};
        },
        [](const actors::find_holder&) {
          return actors::answer<std::optional<events::claim_holder>>{
              not_asked()};
        },
        [](const actors::keep_refusals&) {
          return actors::answer<void>{not_asked()};
        },
        [](const actors::find_refusals&) {
          return actors::answer<std::vector<events::refused_join>>{not_asked()};
        },
        [](const actors::find_event&) {
          return actors::answer<std::optional<events::envelope>>{not_asked()};
        },
        [](const actors::read_events&) {
          return actors::answer<page>{not_asked()};
        },
        [](actors::read_head) {
          return actors::answer<events::head_row>{not_asked()};
        },
        [](const actors::run_query&) {
          return actors::answer<std::string>{not_asked()};
        },
        [](const actors::find_adopting&) {
          return actors::answer<actors::adopting_page>{not_asked()};
        },
        [this](caf::ok_atom) { reads.release(); },
    };
  }

  held_writer::behavior_type write_late(held_writer::pointer me) {
    return {
        [](const actors::publish_to<actors::registry_actor>&) {},
        [this, me](const actors::append_batch& m) {
          return appends.hold(
              me->make_response_promise<
                  actors::answer<events::append_outcome>>(),
              [this, b = m.what]() -> result<events::append_outcome> {
                BC_TRY(done, journal.append({&b, 1}));
                return std::move(done.front());
              });
        },
        [](const actors::read_limiter&) {
          return actors::answer<events::limiter_row>{not_asked()};
        },
        [](const actors::add_dropped&) {
          return actors::answer<events::limiter_row>{not_asked()};
        },
        [](actors::flush_group) {},
        [](actors::catch_up) {},
        [](actors::poll_store) {},
        [this](caf::ok_atom) { appends.release(); },
    };
  }

  static fault not_asked() {
    return fail(errc::internal, "a stream asks no such thing");
  }
};

TEST_CASE_METHOD(held_stream_fixture,
                 "stream: an adoption that fails while it reads leaves it "
                 "behind, not empty",
                 "[actors]") {
  store_event(node_joined(node));
  const bool told = GENERATE(false, true);
  const bool moved_before_read = GENERATE(false, true);
  const bool append_is_lost = GENERATE(false, true);
  INFO(told << moved_before_read << append_is_lost);
  if (told) {
    auto all = std::make_shared<const page>(
        store->read_stream(node_stream, 0, 10).value());
    caf::anon_send(stream, actors::committed_event{all, 0});
  }
  auto settled =
      self->request(stream, caf::infinite, actors::settle{node_stream});
  run();
  release_reads();
  REQUIRE(appends.size() == 1);

  if (moved_before_read)
    store_event(adopted_elsewhere());
  auto got = self->request(stream, caf::infinite,
                           actors::get_state{node_stream, true});
  run();
  REQUIRE(reads.size() == 1);
  if (!moved_before_read)
    store_event(adopted_elsewhere());
  journal.lose_appends = append_is_lost;
  release_appends();
  journal.lose_appends = false;
  for (int i = 0; i < 4 && reads.size() > 0; ++i)
    release_reads();

  got.receive(
      [&](const actors::answer<any_state>& a) {
        REQUIRE(a.value.has_value());
        const auto& state =
            std::get<shared_state<events::node::state>>(a.value.value());
        CHECK(state->version == 2);
        CHECK(state->current == events::node::status::adopted);
      },
      [](const caf::error&) { FAIL("no answer"); });
  settled.receive(
      [&](const actors::answer<void>& a) {
        CHECK(a.value.has_value() == !append_is_lost);
      },
      [](const caf::error&) { FAIL("no answer"); });
  CHECK(appends.size() == 0);  // nothing is left to adopt
  CHECK(store->read_stream(node_stream, 0, 10).value().size() == 2);
}

TEST_CASE_METHOD(held_stream_fixture,
                 "stream: an adoption that was lost is made again, not dropped",
                 "[actors]") {
  store_event(node_joined(node));
  caf::anon_send(stream, actors::settle{node_stream});
  run();
  release_reads();
  REQUIRE(appends.size() == 1);
  caf::anon_send(stream, actors::get_state{node_stream, true});
  run();
  REQUIRE(reads.size() == 1);
  journal.lose_appends = true;
  release_appends();
  journal.lose_appends = false;
  for (int i = 0; i < 4; ++i) {
    release_reads();
    release_appends();
    advance(seconds{1});
  }
  CHECK(store->read_stream(node_stream, 0, 10).value().size() == 2);
}

TEST_CASE_METHOD(held_stream_fixture,
                 "stream: a snapshot older than what it holds is not asked for",
                 "[actors]") {
  store_event(node_joined(node));
  store_event(adopted_elsewhere());
  caf::anon_send(stream, actors::get_state{node_stream});
  run();
  release_reads();
  auto all = store->read_stream(node_stream, 0, 10).value();
  auto old = *events::snapshot_of(node_stream, {all.data(), 1}).value();
  REQUIRE(store->save_snapshot(node_stream, old).has_value());
  // Another process wrote more than a page.
  for (int i = 0; i < 150; ++i) {
    store_event(node_joined(node));
    store_event(adopted_elsewhere());
  }
  auto got = self->request(stream, caf::infinite,
                           actors::get_state{node_stream, true});
  run();
  for (int i = 0; i < 10 && reads.size() > 0; ++i)
    release_reads();
  got.receive(
      [&](const actors::answer<any_state>& a) {
        CHECK(std::get<shared_state<events::node::state>>(a.value.value())
                  ->version == 302);
      },
      [](const caf::error&) { FAIL("no answer"); });
  CHECK(journal.snapshots_read == 0);
}

}  // namespace
}  // namespace bc::test
