// Stream actors: loading, following commits, refusing what they do not know,
// adoption (spec: DESIGN 3, 4 and 8).

#include "actors/stream.hpp"

#include "actors/stream_fold.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/actors/sample_events.hpp"
#include "tests/actors/sample_queries.hpp"

namespace bc::test {
namespace {

using actors::any_state;
using actors::shared_state;

class stream_fixture : public actor_fixture {
 public:
  /// Behind the actors' back, as another process would.
  void store_event(const events::stream_id& stream, events::event_write e) {
    auto b = batch_of(stream, std::move(e));
    REQUIRE(store->append(std::span<const events::batch>{&b, 1}).has_value());
  }

  result<any_state> get(const events::stream_id& stream) {
    return ask<any_state>(registry, actors::get_state{stream});
  }

  shared_state<events::join_token::state> token_state() {
    return std::get<shared_state<events::join_token::state>>(
        get(stream).value());
  }

  shared_state<events::node::state> node_state() {
    return std::get<shared_state<events::node::state>>(
        get(node_stream).value());
  }

  std::size_t events_in(const events::stream_id& of) {
    return store->read_stream(of, 0, 100).value().size();
  }

  join_token_id token = some_id<join_token_id>();
  events::stream_id stream = events::stream_of(token);
  node_id node = some_id<node_id>();
  events::stream_id node_stream = events::stream_of(node);
};

TEST_CASE_METHOD(stream_fixture, "stream: loads page by page, once",
                 "[actors]") {
  start(100, 2);
  store_event(stream, token_created(token, 10));
  for (int i = 0; i < 4; ++i)
    store_event(stream, token_redeemed(token));
  auto state = token_state();
  CHECK(state->version == 5);
  CHECK(state->uses_left == 6);
  CHECK(journal.pages_read == 3);
  CHECK(token_state() == state);
  CHECK(journal.pages_read == 3);
}

TEST_CASE_METHOD(stream_fixture,
                 "stream: one that does not exist has version 0", "[actors]") {
  start();
  CHECK(token_state()->version == 0);
  CHECK_FALSE(token_state()->token.has_value());
}

TEST_CASE_METHOD(stream_fixture,
                 "stream: askers wait while it loads and all are answered",
                 "[actors]") {
  start();
  store_event(stream, token_created(token, 10));
  auto one = self->request(registry, caf::infinite, actors::get_state{stream});
  auto two = self->request(registry, caf::infinite, actors::get_state{stream});
  run();
  int answered = 0;
  auto check = [&](const actors::answer<any_state>& a) {
    CHECK(std::get<shared_state<events::join_token::state>>(a.value.value())
              ->version == 1);
    ++answered;
  };
  auto none = [](const caf::error&) { FAIL("no answer"); };
  one.receive(check, none);
  two.receive(check, none);
  CHECK(answered == 2);
  CHECK(journal.pages_read == 1);
}

TEST_CASE_METHOD(stream_fixture,
                 "stream: an append answered is in the state asked next",
                 "[actors]") {
  start();
  REQUIRE(append(batch_of(stream, token_created(token, 10))).has_value());
  CHECK(token_state()->version == 1);
  auto pages = journal.pages_read.load();
  for (int i = 0; i < 3; ++i)
    REQUIRE(append(batch_of(stream, token_redeemed(token))).has_value());
  CHECK(token_state()->version == 4);
  CHECK(token_state()->uses_left == 7);
  CHECK(journal.pages_read == pages);
}

TEST_CASE_METHOD(stream_fixture,
                 "stream: one that moved elsewhere is loaded again",
                 "[actors]") {
  start();
  REQUIRE(append(batch_of(stream, token_created(token, 10))).has_value());
  CHECK(token_state()->version == 1);
  actors::commit_events moved;
  store_event(stream, token_redeemed(token));
  store_event(stream, token_redeemed(token));
  // Only the newest of the two is heard of.
  moved = std::make_shared<const std::vector<events::envelope>>(
      store->read_stream(stream, 2, 1).value());
  auto pages = journal.pages_read.load();
  caf::anon_send(registry, actors::committed{moved});
  run();
  CHECK(token_state()->version == 3);
  CHECK(token_state()->uses_left == 8);
  CHECK(journal.pages_read == pages + 1);
}

TEST_CASE_METHOD(stream_fixture, "stream: an event told twice counts once",
                 "[actors]") {
  start();
  REQUIRE(append(batch_of(stream, token_created(token, 10))).has_value());
  REQUIRE(append(batch_of(stream, token_redeemed(token))).has_value());
  CHECK(token_state()->uses_left == 9);
  caf::anon_send(
      registry,
      actors::committed{std::make_shared<const std::vector<events::envelope>>(
          store->read_stream(stream, 1, 1).value())});
  run();
  CHECK(token_state()->uses_left == 9);
}

TEST_CASE_METHOD(stream_fixture,
                 "stream: an event type this version does not know refuses "
                 "decisions",
                 "[actors]") {
  start();
  store_event(stream, token_created(token, 10));
  auto unknown = token_redeemed(token);
  SECTION("another type") {
    unknown.type = "security.join-token.teleported";
  }
  SECTION("another version") {
    unknown.type_version = 2;
  }
  SECTION("committed while it is in use") {
    CHECK(token_state()->version == 1);
    unknown.type = "security.join-token.teleported";
    REQUIRE(append(batch_of(stream, unknown)).has_value());
  }
  store_event(stream, unknown);
  for (int i = 0; i < 2; ++i) {
    auto refused = get(stream);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == errc::internal);
    CHECK(refused.error().message ==
          "The stream holds events this version does not know");
  }
}

TEST_CASE_METHOD(stream_fixture,
                 "stream: a read that fails is tried at the next asking",
                 "[actors]") {
  start();
  store_event(stream, token_created(token, 10));
  journal.lose_reads = true;
  auto refused = get(stream);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == errc::unavailable);
  journal.lose_reads = false;
  CHECK(token_state()->version == 1);
}

TEST_CASE_METHOD(stream_fixture,
                 "registry: the least recently used stream is let go",
                 "[actors]") {
  start(2);
  auto a = events::stream_of(some_id<tenant_id>());
  auto b = events::stream_of(some_id<tenant_id>());
  auto c = events::stream_of(some_id<tenant_id>());
  for (const auto& s : {a, b, a, c})
    REQUIRE(get(s).has_value());
  CHECK(journal.pages_read == 3);
  REQUIRE(get(a).has_value());
  CHECK(journal.pages_read == 3);
  REQUIRE(get(b).has_value());
  CHECK(journal.pages_read == 4);
}

TEST_CASE_METHOD(stream_fixture, "registry: a kind without an actor is a fault",
                 "[actors]") {
  start();
  auto refused = get("weather:today");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == errc::internal);
}

TEST_CASE_METHOD(stream_fixture, "node: adopted at once after its join",
                 "[actors]") {
  start();
  REQUIRE(append(batch_of(node_stream, node_joined(node))).has_value());
  run();
  auto all = store->read_stream(node_stream, 0, 10).value();
  REQUIRE(all.size() == 2);
  CHECK(all[1].type == "node.adopted");
  CHECK(all[1].actor == "system");
  CHECK(all[1].correlation == "req-7");
  CHECK(node_state()->current == events::node::status::adopted);
  CHECK(published.size() == 2);
  CHECK(ask<void>(registry, actors::quiesce{}).has_value());
  advance(seconds{5});
  CHECK(events_in(node_stream) == 2);
}

TEST_CASE_METHOD(stream_fixture,
                 "node: where acceptance comes first it is not adopted",
                 "[actors]") {
  start();
  REQUIRE(append(batch_of(node_stream, node_joined(node, true))).has_value());
  run();
  advance(seconds{10});
  CHECK(events_in(node_stream) == 1);
  CHECK(node_state()->current == events::node::status::adopting);
  CHECK(ask<void>(registry, actors::quiesce{}).has_value());
}

TEST_CASE_METHOD(stream_fixture,
                 "node: adopted again after a reclaim, unless it is cordoned",
                 "[actors]") {
  using events::node::status;
  start();
  REQUIRE(append(batch_of(node_stream, node_joined(node))).has_value());
  run();
  REQUIRE(append(batch_of(node_stream, node_joined(node))).has_value());
  run();
  CHECK(events_in(node_stream) == 4);
  CHECK(node_state()->current == status::adopted);

  auto cordon =
      events::node::encode(events::node::cordoned{node, "", time.now()});
  REQUIRE(append(batch_of(node_stream, cordon)).has_value());
  REQUIRE(append(batch_of(node_stream, node_joined(node))).has_value());
  run();
  CHECK(events_in(node_stream) == 6);
  CHECK(node_state()->current == status::cordoned);
}

TEST_CASE_METHOD(stream_fixture,
                 "node: an adoption that could not be written is tried again",
                 "[actors]") {
  start();
  arm(fault_point::store_before_commit, fault_action::error, 2);
  REQUIRE(append(batch_of(node_stream, node_joined(node))).has_value());
  run();
  CHECK(node_state()->current == events::node::status::adopting);
  advance(seconds{1});
  CHECK(node_state()->current == events::node::status::adopted);
  CHECK(events_in(node_stream) == 2);
}

TEST_CASE_METHOD(stream_fixture,
                 "node: left adopting by a crash, adopted at the next start",
                 "[actors]") {
  auto tenant = some_id<tenant_id>();
  sample_queries rows;
  // More than a page, and another tenant before it.
  rows.add_tenant(some_id<tenant_id>().str());
  rows.add_tenant(tenant.str());
  std::vector<events::stream_id> left;
  for (int i = 0; i < 3; ++i) {
    auto id = some_id<node_id>();
    store_event(events::stream_of(id), node_joined(id));
    rows.add_node(tenant.str(), id.str(), i == 1 ? "adopted" : "adopting");
    left.push_back(events::stream_of(id));
  }
  queries = &rows;
  start();
  caf::anon_send(registry, actors::sweep_adopting{});
  run();
  CHECK(events_in(left[0]) == 2);
  CHECK(events_in(left[1]) == 1);  // not asked for: its row says adopted
  CHECK(events_in(left[2]) == 2);
}

TEST_CASE_METHOD(stream_fixture,
                 "stream: without its reader it waits for nothing more",
                 "[actors]") {
  start();
  auto reader = actors::spawn_journal_reader(
      system, {&journal, nullptr, actors::threading::shared});
  auto alone = own(
      actors::spawn_stream(system, node_stream, {writer, reader, &time, 1000}));
  caf::anon_send_exit(reader, caf::exit_reason::user_shutdown);
  run();
  CHECK_FALSE(ask<void>(alone, actors::settle{node_stream}).has_value());
  CHECK_FALSE(sched.has_pending_timeout());
}

TEST_CASE("stream fold: a hole is refused", "[actors]") {
  auto id = some_id<tenant_id>();
  auto fold = actors::make_fold(events::stream_of(id));
  REQUIRE(fold != nullptr);
  events::envelope e;
  e.stream = events::stream_of(id);
  e.version = 2;
  auto refused = fold->apply(e);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == errc::internal);
  CHECK(actors::make_fold("refusal:x") == nullptr);
}

}  // namespace
}  // namespace bc::test
