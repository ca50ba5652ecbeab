// A store that other processes write to (DESIGN 3): the tail, what is known
// in memory, and what they leave behind.

#include "actors/breaker.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/actors/sample_events.hpp"

namespace bc::test {
namespace {

using actors::any_state;
using actors::shared_state;

class shared_fixture : public actor_fixture {
 public:
  shared_fixture() { journal.shared = true; }

  /// As another process does.
  void elsewhere(const events::stream_id& in, events::event_write e) {
    auto b = batch_of(in, std::move(e));
    REQUIRE(store->append(std::span<const events::batch>{&b, 1}).has_value());
  }

  /// More than is read at once.
  void flood(std::size_t events) {
    std::vector<events::batch> all;
    for (std::size_t i = 0; i < events; ++i)
      all.push_back(tenant_batch(some_id<tenant_id>()));
    REQUIRE(store->append(all).has_value());
  }

  shared_state<events::join_token::state> token_state() {
    auto got = ask<any_state>(registry, actors::get_state{stream});
    REQUIRE(got.has_value());
    return std::get<shared_state<events::join_token::state>>(got.value());
  }

  std::size_t events_in(const events::stream_id& of) {
    return store->read_stream(of, 0, 100).value().size();
  }

  void check_published_in_order() {
    for (std::size_t i = 0; i < published.size(); ++i)
      CHECK(published[i].position == i + 1);
  }

  /// Moves the token's stream by another process, and has an append of this
  /// one rejected for it.
  void reject_for_version() {
    elsewhere(stream, token_redeemed(token));
    auto outcome = append(batch_of(stream, token_redeemed(token), 1));
    REQUIRE(outcome.has_value());
    REQUIRE(std::holds_alternative<events::rejected>(outcome.value()));
  }

  join_token_id token = some_id<join_token_id>();
  events::stream_id stream = events::stream_of(token);
};

TEST_CASE_METHOD(shared_fixture,
                 "tail: what others write is heard of in 200 ms",
                 "[actors][shared]") {
  start();
  elsewhere(stream, token_created(token, 10));
  CHECK(token_state()->version == 1);
  elsewhere(stream, token_redeemed(token));
  CHECK(token_state()->version == 1);
  advance(milliseconds{200});
  auto pages = journal.pages_read.load();
  CHECK(token_state()->version == 2);
  CHECK(journal.pages_read == pages);  // the actor took the event
  check_published_in_order();
  CHECK(published.size() == 2);
}

TEST_CASE_METHOD(shared_fixture,
                 "tail: own commits are not read again, others' between them "
                 "are handed out in order",
                 "[actors][shared]") {
  start();
  REQUIRE(append(batch_of(stream, token_created(token, 10))).has_value());
  REQUIRE(append(batch_of(stream, token_redeemed(token))).has_value());
  CHECK(journal.tails_read == 0);
  CHECK(token_state()->version == 2);
  auto pages = journal.pages_read.load();
  elsewhere(stream, token_redeemed(token));
  REQUIRE(append(batch_of(stream, token_redeemed(token))).has_value());
  CHECK(token_state()->version == 4);
  CHECK(token_state()->uses_left == 7);
  CHECK(journal.pages_read == pages);
  CHECK(published.size() == 4);
  check_published_in_order();
}

TEST_CASE_METHOD(shared_fixture,
                 "tail: a flood from another process holds up no append",
                 "[actors][shared]") {
  start();
  flood(3'500);
  int tails_before = 0;
  journal.before_tail = [&, first = true]() mutable {
    if (std::exchange(first, false))
      caf::anon_send(writer, actors::append_batch{
                                 tenant_batch(some_id<tenant_id>()), nullptr});
  };
  journal.before_append = [&] { tails_before = journal.tails_read; };
  advance(milliseconds{200});
  CHECK(tails_before == 1);
  advance(seconds{1});
  CHECK(published.size() == 3'501);
  check_published_in_order();
}

TEST_CASE_METHOD(shared_fixture,
                 "tail: before a rejection is answered the state is fresh",
                 "[actors][shared]") {
  poll_every = milliseconds{3'600'000};
  start();
  REQUIRE(append(batch_of(stream, token_created(token, 10))).has_value());
  CHECK(token_state()->version == 1);
  SECTION("by the tail") {
    reject_for_version();
    CHECK(published.size() == 2);
  }
  SECTION("by reading on, when the tail cannot be read") {
    journal.lose_reads = true;
    reject_for_version();
    CHECK(published.size() == 1);
    journal.lose_reads = false;
  }
  SECTION("whatever is written elsewhere meanwhile") {
    flood(6'000);
    reject_for_version();
  }
  CHECK(token_state()->version == 2);
}

TEST_CASE_METHOD(shared_fixture,
                 "stream: one without events is never known to be absent",
                 "[actors][shared]") {
  poll_every = milliseconds{3'600'000};
  start();
  CHECK(token_state()->version == 0);
  SECTION("asked again") {
    elsewhere(stream, token_created(token, 10));
    CHECK(token_state()->version == 1);
  }
  SECTION("asked while a read that began before is under way") {
    auto asker = [&] {
      return self->request(registry, caf::infinite, actors::get_state{stream});
    };
    std::vector<std::uint64_t> versions;
    auto note = [&](const actors::answer<any_state>& a) {
      versions.push_back(
          std::get<shared_state<events::join_token::state>>(a.value.value())
              ->version);
    };
    auto none = [](const caf::error&) { FAIL("no answer"); };
    std::optional<decltype(asker())> second;
    journal.after_page = [&] {
      if (second)
        return;
      elsewhere(stream, token_created(token, 10));
      second.emplace(asker());
    };
    auto first = asker();
    run();
    first.receive(note, none);
    second->receive(note, none);
    CHECK(versions == std::vector<std::uint64_t>{0, 1});
  }
}

TEST_CASE_METHOD(shared_fixture,
                 "stream: what was not confirmed for a second is read on",
                 "[actors][shared]") {
  // A writer that is held up, or a process that was frozen.
  poll_every = milliseconds{3'600'000};
  start();
  elsewhere(stream, token_created(token, 10));
  CHECK(token_state()->version == 1);
  elsewhere(stream, token_redeemed(token));
  advance(milliseconds{900});
  CHECK(token_state()->version == 1);  // staleness under a second
  advance(milliseconds{200});
  CHECK(token_state()->version == 2);
  auto pages = journal.pages_read.load();
  CHECK(token_state()->version == 2);
  CHECK(journal.pages_read == pages + 1);
  // An own commit tells as much as a look at the tail.
  REQUIRE(append(tenant_batch(some_id<tenant_id>())).has_value());
  pages = journal.pages_read;
  CHECK(token_state()->version == 2);
  CHECK(journal.pages_read == pages);
  // A store that is away is no ground for an answer.
  advance(milliseconds{1100});
  journal.lose_reads = true;
  auto got = ask<any_state>(registry, actors::get_state{stream});
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().code == errc::unavailable);
}

TEST_CASE_METHOD(shared_fixture,
                 "node: taken in by a process that died, adopted by another",
                 "[actors][shared]") {
  start();
  auto left = some_id<node_id>(), done = some_id<node_id>();
  auto left_stream = events::stream_of(left),
       done_stream = events::stream_of(done);
  elsewhere(left_stream, node_joined(left));
  elsewhere(done_stream, node_joined(done));
  advance(milliseconds{200});
  elsewhere(done_stream,
            events::node::encode(events::node::adopted{done, sample_time}));
  for (int i = 0; i < 4; ++i)
    advance(seconds{1});
  CHECK(events_in(left_stream) == 1);  // its own process may be at it
  for (int i = 0; i < 12; ++i)
    advance(seconds{1});
  CHECK(events_in(left_stream) == 2);
  CHECK(events_in(done_stream) == 2);
  // Its own are adopted at once.
  auto own_node = some_id<node_id>();
  REQUIRE(append(batch_of(events::stream_of(own_node), node_joined(own_node)))
              .has_value());
  run();
  CHECK(events_in(events::stream_of(own_node)) == 2);
}

TEST_CASE_METHOD(shared_fixture,
                 "tail: a store that was away is caught up with",
                 "[actors][shared]") {
  start();
  journal.lose_reads = true;
  elsewhere(stream, token_created(token, 10));
  for (int i = 0; i < 5; ++i)
    advance(seconds{1});
  CHECK(published.empty());
  journal.lose_reads = false;
  advance(seconds{1});
  CHECK(published.size() == 1);
}

TEST_CASE_METHOD(shared_fixture,
                 "tail: a store that is away is asked as often as ever while "
                 "gateways still go by what was heard, then less",
                 "[actors][shared]") {
  start();
  advance(milliseconds{200});
  journal.lose_reads = true;
  elsewhere(stream, token_created(token, 10));
  SECTION("back in time") {
    for (int i = 0; i < 8; ++i)
      advance(milliseconds{200});
    CHECK(published.empty());
    journal.lose_reads = false;
    advance(milliseconds{200});
    CHECK(published.size() == 1);
  }
  SECTION("away for longer") {
    for (int i = 0; i < 15; ++i)
      advance(milliseconds{200});
    auto asked = journal.tails_read.load();
    for (int i = 0; i < 25; ++i)
      advance(milliseconds{200});
    CHECK(journal.tails_read == asked + 5);
  }
}

TEST_CASE_METHOD(shared_fixture,
                 "tail: what was written before the start is nobody's news, "
                 "also when the head could not be read",
                 "[actors][shared]") {
  elsewhere(stream, token_created(token, 10));
  SECTION("no head at the start") {
    journal.lose_reads = true;
    start();
    journal.lose_reads = false;
  }
  SECTION("a head") {
    start();
  }
  advance(seconds{1});
  elsewhere(stream, token_redeemed(token));
  advance(seconds{1});
  REQUIRE(published.size() == 1);
  CHECK(published[0].position == 2);
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: what waited through a store that is away is not "
                 "tried again (case 179)",
                 "[actors]") {
  start();
  journal.lose_appends = true;
  REQUIRE_FALSE(append(tenant_batch(some_id<tenant_id>())).has_value());
  auto groups = journal.groups().size();
  advance(seconds{10});
  auto asked = system.clock().now() - seconds{3};
  using handle = decltype(self->request(writer, caf::infinite,
                                        std::declval<actors::append_batch>()));
  std::vector<handle> waiting;
  for (int i = 0; i < 600; ++i)
    waiting.push_back(
        self->request(writer, caf::infinite,
                      actors::append_batch{tenant_batch(some_id<tenant_id>()),
                                           nullptr, asked}));
  run();
  int refused = 0;
  for (auto& w : waiting)
    w.receive(
        [&](const actors::answer<events::append_outcome>& a) {
          refused += !a.value && a.value.error().code == errc::unavailable;
        },
        [](const caf::error&) { FAIL("no answer"); });
  CHECK(refused == 600);
  CHECK(journal.groups().size() == groups);
  // The next one finds the store back.
  journal.lose_appends = false;
  CHECK(append(tenant_batch(some_id<tenant_id>())).has_value());
}

TEST_CASE("breaker: after a call that blocked, refuses for as long",
          "[actors]") {
  using std::chrono::milliseconds;
  const actors::breaker::instant t0{seconds{1'000}};
  actors::breaker b;
  CHECK_FALSE(b.is_open(t0));
  b.failed(t0, t0 + milliseconds{10});  // a fault at once blocks nobody
  CHECK_FALSE(b.is_open(t0 + milliseconds{10}));
  b.failed(t0, t0 + seconds{2});
  CHECK(b.is_open(t0 + seconds{2}));
  CHECK(b.is_open(t0 + milliseconds{3'999}));
  CHECK_FALSE(b.is_open(t0 + seconds{4}));
  b.failed(t0, t0 + seconds{60});
  CHECK_FALSE(b.is_open(t0 + seconds{65}));
}

}  // namespace
}  // namespace bc::test
