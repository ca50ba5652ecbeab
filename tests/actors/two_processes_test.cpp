// Two server processes on one journal (DESIGN 3). Where a test must not be
// saved by the tail, the tail is turned off.

#include "tests/actors/reclaim_rounds.hpp"
#include "tests/support/eventually.hpp"

#include <map>
#include <set>
#include <thread>

namespace bc::test {

TEST_CASE_METHOD(two_processes,
                 "two processes: of 300 joins on a token of 100 uses through "
                 "both, exactly 100 are admitted",
                 "[actors][shared]") {
  constexpr std::size_t joins = 300, uses = 100;
  auto token = many_uses(w, uses);
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < joins; ++i)
    bodies.push_back(wire::encode(
        w.request(make_machine(static_cast<int>(i)), token.text())));
  start();
  collected<daemon_reply> replies;
  for (std::size_t i = 0; i < joins; ++i)
    (i % 2 == 0 ? a : b)
        .server->daemons()
        .call({bodies[i], "req", {}}, replies.take());
  std::map<int, std::size_t> by_status;
  for (const auto& r : replies.wait_for(joins))
    ++by_status[r.status];
  stop();
  CHECK(by_status ==
        std::map<int, std::size_t>{{200, uses}, {403, joins - uses}});
  CHECK(w.count("node.joined") == uses);
  CHECK(w.count("node.adopted") == uses);
  CHECK(w.count("security.join-token.redeemed") == uses);
  auto [events, all] = refusals(w.owner, "join-token:exhausted");
  CHECK(events == 60);
  CHECK(all == joins - uses);
  check_journal();
}

TEST_CASE_METHOD(two_processes,
                 "two processes: revoked through one, refused at once through "
                 "the other",
                 "[actors][shared]") {
  auto token = many_uses(w, 10);
  auto key = credential();
  start(no_tail);
  // The other knows the token as good.
  REQUIRE(b.join(w, make_machine(1), token.text()).status == 200);
  auto revoked = a.call("joinTokens.revoke", key,
                        "{\"tenantId\":\"" + w.owner.str() +
                            "\",\"poolId\":\"" + w.pool.str() +
                            "\",\"tokenId\":\"" + token.token.id.str() + "\"}");
  REQUIRE(revoked.status == 200);
  CHECK(b.join(w, make_machine(2), token.text()).status == 403);
  CHECK(w.count("node.joined") == 1);
  stop();
  CHECK(refusals(w.owner, "join-token:revoked").second == 1);
  check_journal();
}

TEST_CASE_METHOD(two_processes,
                 "two processes: used up through one, refused as exhausted "
                 "through the other",
                 "[actors][shared]") {
  auto token = many_uses(w, 2);
  start(no_tail);
  REQUIRE(b.join(w, make_machine(1), token.text()).status == 200);
  REQUIRE(a.join(w, make_machine(2), token.text()).status == 200);
  CHECK(b.join(w, make_machine(3), token.text()).status == 403);
  stop();
  CHECK(refusals(w.owner, "join-token:exhausted").second == 1);
}

TEST_CASE_METHOD(two_processes,
                 "two processes: one idempotency key at both is one token",
                 "[actors][shared]") {
  auto key = credential();
  start(no_tail);
  race_first_appends();
  collected<api_reply> replies;
  for (auto* p : {&a, &b})
    p->server->api().call({"joinTokens",
                           "create",
                           "Bearer " + key,
                           create_input("once"),
                           "req",
                           {}},
                          replies.take());
  auto both = replies.wait_for(2);
  stop();
  for (const auto& r : both)
    CHECK(r.status == 200);
  CHECK(at(both[0].body, "/id") == at(both[1].body, "/id"));
  // Its secret was told once.
  CHECK(at(both[0].body, "/token").empty() !=
        at(both[1].body, "/token").empty());
  CHECK(w.count("security.join-token.created") == 1);
}

TEST_CASE_METHOD(two_processes,
                 "two processes: made through one, usable at once through the "
                 "other, also where it was looked for before",
                 "[actors][shared]") {
  auto key = credential();
  start(no_tail);
  auto made = a.call("joinTokens.create", key, create_input("k"));
  REQUIRE(made.status == 200);
  CHECK(b.join(w, make_machine(1), at(made.body, "/token")).status == 200);

  // A token and a tenant's credential that the other was asked for in vain.
  minted early;
  early.secret = to_base64url(pki::random_bytes(32));
  early.token.id = pki::mint<join_token_id>(w.time.now());
  CHECK(b.join(w, make_machine(2), early.text()).status == 403);
  auto later = w.mint_token([&](events::join_token::created& t) {
    t.id = early.token.id;
    t.secret_sha256 = to_hex(events::join_token::secret_digest(
        secret_bytes{as_bytes(early.secret)}));
  });
  CHECK(b.join(w, make_machine(3), early.text()).status == 200);
  stop();
  CHECK(refusals(w.root, "join-token:unknown").second == 1);
}

TEST_CASE_METHOD(two_processes,
                 "two processes: of two racing joins of one machine, one is a "
                 "CONFLICT",
                 "[actors][shared]") {
  auto token = many_uses(w, 10);
  start(no_tail);
  race_first_appends();
  auto one = make_machine(1), other = make_machine(1);  // two keys
  collected<daemon_reply> replies;
  a.server->daemons().call(
      {wire::encode(w.request(one, token.text())), "req", {}}, replies.take());
  b.server->daemons().call(
      {wire::encode(w.request(other, token.text())), "req", {}},
      replies.take());
  std::multiset<int> statuses;
  for (const auto& r : replies.wait_for(2))
    statuses.insert(r.status);
  stop();
  CHECK(statuses == std::multiset<int>{200, 409});
  CHECK(w.count("node.joined") == 1);
  CHECK(w.uses_left(token) == 9);
}

TEST_CASE_METHOD(two_processes,
                 "two processes: 100 rounds of two reclaims at once (case 72)",
                 "[actors][shared]") {
  race_reclaims(
      *this, [this](seconds by) { w.time.advance(by); }, 100);
}

TEST_CASE_METHOD(two_processes,
                 "two processes: a lost answer is given again by the other",
                 "[actors][shared]") {
  auto token = many_uses(w, 1);
  start(no_tail);
  auto m = make_machine(1);
  auto first = a.join(w, m, token.text());
  auto again = b.join(w, m, token.text());
  stop();
  REQUIRE(first.status == 200);
  REQUIRE(again.status == 200);
  CHECK(wire::decode_join_answer(200, again.body).value().body ==
        wire::decode_join_answer(200, first.body).value().body);
  CHECK(w.count("node.joined") == 1);
}

TEST_CASE_METHOD(two_processes,
                 "two processes: 60 refusals in any 60 s through both, the "
                 "rest counted (case 137)",
                 "[actors][shared]") {
  constexpr std::size_t each = 75;
  auto token = w.mint_token();
  auto wrong = "bcjt_" + token.token.id.str() + "." + std::string(43, 'x');
  std::vector<std::string> bodies;
  for (int i = 0; i < 2 * static_cast<int>(each); ++i)
    bodies.push_back(wire::encode(w.request(make_machine(i), wrong)));
  start();
  collected<daemon_reply> replies;
  for (std::size_t i = 0; i < bodies.size(); ++i)
    (i % 2 == 0 ? a : b)
        .server->daemons()
        .call({bodies[i], "req", {}}, replies.take());
  for (const auto& r : replies.wait_for(bodies.size()))
    CHECK(r.status == 403);
  stop();
  auto [events, all] = refusals(w.root, "join-token:secret-mismatch");
  CHECK(events == 60);
  CHECK(all == 2 * each);
}

TEST_CASE_METHOD(two_processes,
                 "two processes: stopped in full flight, no accepted join is "
                 "lost; a second stop is harmless (case 180)",
                 "[actors][shared]") {
  constexpr std::size_t joins = 120;
  auto token = many_uses(w, joins);
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < joins; ++i)
    bodies.push_back(wire::encode(
        w.request(make_machine(static_cast<int>(i)), token.text())));
  start(milliseconds{1});
  collected<daemon_reply> replies;
  for (std::size_t i = 0; i < joins; ++i)
    (i % 2 == 0 ? a : b)
        .server->daemons()
        .call({bodies[i], "req", {}}, replies.take());
  std::thread second{[this] { a.server->stop(seconds{30}); }};
  stop();
  second.join();
  stop();
  std::size_t admitted = 0;
  for (const auto& r : replies.wait_for(joins))
    admitted += r.status == 200 ? 1 : 0;
  CHECK(admitted == joins);
  CHECK(w.count("node.joined") == admitted);
  CHECK(w.count("node.adopted") == admitted);
  CHECK(b.join(w, make_machine(999), token.text()).status == 503);
}

TEST_CASE_METHOD(two_processes,
                 "two processes: a principal's reads wait for its own writes",
                 "[actors][shared]") {
  auto key = credential();
  start(no_tail);
  const auto tenant = "{\"tenantId\":\"" + w.owner.str() + "\"}";
  a.models.reached = w.head();
  REQUIRE(a.call("nodes.list", key, tenant).status == 200);
  auto made = a.call("joinTokens.create", key, create_input("k"));
  REQUIRE(made.status == 200);
  auto position = at(made.body, "/position");
  CHECK(position == std::to_string(w.head()));

  SECTION("that come in time") {
    collected<api_reply> waiting;
    a.server->api().call({"nodes", "list", "Bearer " + key, tenant, "req", {}},
                         waiting.take());
    auto asked = a.models.asked.load();
    REQUIRE(eventually([&] { return a.models.asked > asked + 3; }));
    a.models.reached = w.head();
    CHECK(waiting.wait_for(1).front().status == 200);
  }
  SECTION("that do not: UNAVAILABLE, with the lag") {
    auto late = a.call("nodes.list", key, tenant);
    CHECK(late.status == 503);
    CHECK(at(late.body, "/error/code") == "UNAVAILABLE");
    CHECK_THAT(at(late.body, "/error/message"),
               Catch::Contains("1 events behind position " + position));
    // Writes wait for nothing.
    CHECK(a.call("joinTokens.create", key, create_input("l")).status == 200);
  }
  SECTION("through another process by the position they carry") {
    b.models.reached = w.head() - 1;
    // It knows of no write of theirs.
    CHECK(b.call("nodes.list", key, tenant).status == 200);
    CHECK(b.call("nodes.list", key, tenant, position).status == 503);
    b.models.reached = w.head();
    CHECK(b.call("nodes.list", key, tenant, position).status == 200);
    auto beyond = std::to_string(w.head() + 1);
    auto refused = b.call("nodes.list", key, tenant, beyond);
    CHECK(refused.status == 400);
    CHECK(at(refused.body, "/error/code") == "INVALID_INPUT");
  }
  stop();
}

TEST_CASE("one process: where models move with the journal nothing waits",
          "[actors]") {
  two_processes t;
  auto key = t.credential();
  t.a.journal.shared = false;
  t.start();
  REQUIRE(t.a.call("joinTokens.create", key, t.create_input("k")).status ==
          200);
  CHECK(
      t.a.call("nodes.list", key, "{\"tenantId\":\"" + t.w.owner.str() + "\"}")
          .status == 200);
  CHECK(t.a.models.asked == 0);
  t.stop();
}

}  // namespace bc::test
