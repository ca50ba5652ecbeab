#include "events/catalog.hpp"
#include "tests/actors/join_racing.hpp"

// Reclaims that meet: each other, an operator, the node's own actor (CASES 68,
// 72; spec: joining#refusals, "two joins of the same machine").
namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

constexpr auto joined_kind = wire::join_answer::kind::joined;

std::size_t live_certificates(const node::state& s, time_point now) {
  std::size_t n = 0;
  for (const auto& i : s.certificates)
    n += node::is_live(i, now) ? 1 : 0;
  return n;
}

struct racing_node : racing_world {
  tried first = join(make_machine(1), mint_token().text());
  node_id id = node_of(first.answer);
};

TEST_CASE(
    "reclaim race: who comes second is told so, its token unspent "
    "(case 72)") {
  racing_node w;
  auto ta = w.mint_reclaim_token(), tb = w.mint_reclaim_token();
  wire::join_answer winner;
  w.racing->before_append = [&] {
    winner = w.join_aside(w.request(make_machine(1), tb.text()));
  };
  auto m = make_machine(1);
  auto loser = w.join_racing(w.request(m, ta.text()));
  CHECK(winner.what == joined_kind);
  CHECK(loser.answer.code == errc::conflict);
  CHECK(loser.answer.message == "This machine joined concurrently; retry");
  CHECK(loser.reports.empty());
  CHECK(w.uses_left(ta) == 1);
  CHECK(w.uses_left(tb) == 0);
  CHECK(w.node(w.id).generation == 2);
  // The retry it is told to make is a reclaim of its own.
  CHECK(joined(w.join(m, ta.text())));
  CHECK(w.node(w.id).generation == 3);
}

TEST_CASE("reclaim race: the node's adoption is no other join") {
  racing_node w;
  auto token = w.mint_reclaim_token();
  w.racing->before_append = [&] { w.command(w.id, node::adopt{w.time.now()}); };
  CHECK(joined(w.join_racing(w.request(make_machine(1), token.text()))));
  CHECK(w.node(w.id).generation == 2);
  CHECK(w.racing->appends == 2);
}

TEST_CASE("reclaim race: a node that ends meanwhile leaves a new machine") {
  racing_node w;
  auto token = w.mint_reclaim_token();
  w.racing->before_append = [&] { w.retire(w.id); };
  auto got = w.join_racing(w.request(make_machine(1), token.text()));
  REQUIRE(joined(got));
  CHECK(node_of(got.answer) != w.id);
  CHECK(w.node(w.id).generation == 1);
}

TEST_CASE("reclaim race: one given up while it was refused is no refusal") {
  racing_node w;
  auto token = w.mint_token();
  w.racing->race_confirmations = true;
  w.racing->before_append = [&] { w.retire(w.id); };
  auto got = w.join_racing(w.request(make_machine(1), token.text()));
  REQUIRE(joined(got));
  CHECK(node_of(got.answer) != w.id);
  CHECK(got.reports.empty());
}

TEST_CASE("reclaim race: the same reclaim sent twice is one") {
  racing_node w;
  auto token = w.mint_token([](auto& t) {
    t.allow_reclaim = true;
    t.max_uses = 2;
  });
  auto r = w.request(make_machine(1), token.text());
  wire::join_answer first;
  w.racing->before_append = [&] { first = w.join_aside(r); };
  auto second = w.join_racing(r);
  REQUIRE(joined(second));
  CHECK(second.answer.body == first.body);
  CHECK(w.uses_left(token) == 1);
  CHECK(w.node(w.id).generation == 2);
}

TEST_CASE("reclaim race: two that suspect a clone tell of it once (case 68)") {
  racing_node w;
  for (int i = 0; i < 2; ++i)
    REQUIRE(joined(w.join(make_machine(1), w.mint_reclaim_token().text())));
  auto ta = w.mint_reclaim_token(), tb = w.mint_reclaim_token();
  wire::join_answer other;
  w.racing->before_append = [&] {
    other = w.join_aside(w.request(make_machine(1), tb.text()));
  };
  auto got = w.join_racing(w.request(make_machine(1), ta.text()));
  CHECK(got.answer.code == errc::access_denied);
  CHECK(other.code == errc::access_denied);
  CHECK(w.count("node.clone-suspected") == 1);
  CHECK(w.node(w.id).generation == 3);
}

TEST_CASE("reclaim race: 100 rounds of two at once, in any order (case 72)") {
  join_world w;
  auto first = w.join(make_machine(1), w.mint_token().text());
  REQUIRE(joined(first));
  const auto id = node_of(first.answer);
  std::int64_t admitted = 0, conflicts = 0;
  for (unsigned round = 1; round <= 100; ++round) {
    CAPTURE(round);
    // Each round is by itself: nothing here is about clones.
    w.time.advance(seconds{660});
    const minted tokens[] = {w.mint_reclaim_token(), w.mint_reclaim_token()};
    auto ledger = std::make_shared<shuffled_ledger>(*w.journal, w.time, round);
    std::vector<wire::join_answer> answers(2);
    for (std::size_t i = 0; i < 2; ++i)
      actors::run_join(
          w.environment(), ledger,
          {wire::encode(w.request(make_machine(1), tokens[i].text())), "req"},
          [&answers, i](wire::join_answer a) { answers[i] = std::move(a); });
    ledger->run_all();
    for (std::size_t i = 0; i < 2; ++i) {
      const bool in = answers[i].what == joined_kind;
      if (!in)
        CHECK(answers[i].code == errc::conflict);
      CHECK(w.uses_left(tokens[i]) == (in ? 0 : 1));
      ++(in ? admitted : conflicts);
    }
    const auto state = w.node(id);
    CHECK(state.generation == 1 + admitted);
    CHECK(live_certificates(state, w.time.now()) == 1);
  }
  CHECK(admitted >= 100);
  CHECK(conflicts > 0);
  CHECK(w.reports.empty());
  CHECK(w.journal->verify({events::moves_of}).has_value());
}

}  // namespace
}  // namespace bc::test
