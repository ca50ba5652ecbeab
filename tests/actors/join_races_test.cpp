#include "tests/actors/join_racing.hpp"

// Races, retries and lost answers (spec: DESIGN section 3).
namespace bc::test {
namespace {

using events::refusal_reason;

TEST_CASE("join: two joins of one machine racing end with one CONFLICT") {
  racing_world w;
  auto a = make_machine(1), b = make_machine(1);
  auto ta = w.mint_token(), tb = w.mint_token();
  wire::join_answer winner;
  w.racing->before_append = [&] {
    winner = w.join_aside(w.request(b, tb.text()));
  };
  auto loser = w.join_racing(w.request(a, ta.text()));
  CHECK(winner.what == wire::join_answer::kind::joined);
  CHECK(loser.answer.code == errc::conflict);
  CHECK(loser.answer.message == "This machine joined concurrently; retry");
  CHECK(wire::http_status(loser.answer) == 409);
  CHECK(loser.answer.time.has_value());
  CHECK(loser.reports.empty());
  CHECK(w.uses_left(ta) == 1);
  CHECK(w.uses_left(tb) == 0);
  CHECK(w.count("node.joined") == 1);
}

TEST_CASE("join: the same join sent again gets the stored answer (case 14)") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token();
  auto first = w.join(m, token.text());
  REQUIRE(joined(first));
  auto head = w.head();

  SECTION("the same CSR, within ten minutes") {
    w.time.advance(seconds{599});
    auto again = w.join(m, token.text());
    REQUIRE(joined(again));
    CHECK(again.answer.body == first.answer.body);
    CHECK(again.answer.signature == first.answer.signature);
    CHECK(without_time(again.answer) == without_time(first.answer));
    CHECK(again.answer.time->time_ms != first.answer.time->time_ms);
    CHECK(again.reports.empty());
    CHECK(w.head() == head);
  }
  SECTION("also after the token was revoked") {
    w.revoke(token);
    CHECK(joined(w.join(m, token.text())));
  }
  SECTION("another CSR is a new attempt") {
    auto other = make_machine(1);
    check_refused(w, w.join(other, token.text()), head,
                  refusal_reason::token_exhausted, w.owner);
  }
  SECTION("another token never gets it") {
    auto second = w.mint_token();
    head = w.head();
    check_refused(w, w.join(m, second.text()), head,
                  refusal_reason::join_reclaim, w.owner);
    CHECK(w.uses_left(second) == 1);
  }
  SECTION("a wrong secret never gets it") {
    minted guess{token.token, to_base64url(pki::random_bytes(32))};
    check_refused(w, w.join(m, guess.text()), head,
                  refusal_reason::token_secret_mismatch, w.root);
  }
  SECTION("after ten minutes it is gone") {
    w.time.advance(seconds{600});
    check_refused(w, w.join(m, token.text()), head,
                  refusal_reason::token_exhausted, w.owner);
  }
}

TEST_CASE("join: an answer goes with its certificate") {
  join_world w;
  w.lifetime = seconds{600};  // five minutes of it lie in the past
  auto m = make_machine(1);
  auto token = w.mint_token([](auto& t) { t.max_uses = 2; });
  REQUIRE(joined(w.join(m, token.text())));
  auto head = w.head();
  w.time.advance(seconds{299});
  CHECK(joined(w.join(m, token.text())));
  w.time.advance(seconds{1});
  // The claim is still held; what it holds is worthless, and the machine is
  // known.
  check_refused(w, w.join(m, token.text()), head, refusal_reason::join_reclaim,
                w.owner);
  // The same with hardware that nobody holds: the key is still the node's.
  machine moved{m.key.clone(), m.csr, make_machine(2).claims};
  check_refused(w, w.join(moved, token.text()), head, refusal_reason::join_csr,
                w.owner);
  CHECK(w.uses_left(token) == 1);
}

TEST_CASE("join: a duplicate in flight gets the stored answer") {
  racing_world w;
  auto m = make_machine(1);
  SECTION("lost at the append") {
    auto token = w.mint_token([](auto& t) { t.max_uses = 5; });
    wire::join_answer first;
    w.racing->before_append = [&] {
      first = w.join_aside(w.request(m, token.text()));
    };
    auto second = w.join_racing(w.request(m, token.text()));
    REQUIRE(joined(second));
    CHECK(without_time(second.answer) == without_time(first));
    CHECK(w.uses_left(token) == 4);
    CHECK(w.count("node.joined") == 1);
  }
  SECTION("in every interleaving of eight, one node and one answer") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      join_world v;
      auto token = v.mint_token([](auto& t) { t.max_uses = 3; });
      auto ledger = std::make_shared<shuffled_ledger>(*v.journal, v.time, seed);
      std::vector<wire::join_answer> answers;
      for (int i = 0; i < 8; ++i)
        actors::run_join(
            v.environment(), ledger,
            {wire::encode(v.request(m, token.text())), "req-1"},
            [&](wire::join_answer a) { answers.push_back(std::move(a)); });
      ledger->run_all();
      REQUIRE(answers.size() == 8);
      for (const auto& a : answers) {
        CHECK(a.what == wire::join_answer::kind::joined);
        CHECK(a.body == answers.front().body);
      }
      CHECK(v.reports.empty());
      CHECK(v.uses_left(token) == 2);
      CHECK(v.count("node.joined") == 1);
    }
  }
}

TEST_CASE("join: a token of N uses admits N of many (case 9)") {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    join_world w;
    auto token = w.mint_token([](auto& t) { t.max_uses = 7; });
    auto ledger = std::make_shared<shuffled_ledger>(*w.journal, w.time, seed);
    std::size_t in = 0, refused = 0, other = 0;
    for (int i = 0; i < 20; ++i)
      actors::run_join(
          w.environment(), ledger,
          {wire::encode(w.request(make_machine(i), token.text())), "req-1"},
          [&](const wire::join_answer& a) {
            ++(a.what == wire::join_answer::kind::joined ? in
               : a.code == errc::access_denied           ? refused
                                                         : other);
          });
    ledger->run_all();
    CHECK(in == 7);
    CHECK(refused == 13);
    CHECK(other == 0);
    CHECK(w.uses_left(token) == 0);
    CHECK(w.count("node.joined") == 7);
    REQUIRE(w.reports.size() == 13);
    for (const auto& r : w.reports) {
      CHECK(r.reason == refusal_reason::token_exhausted);
      CHECK(r.owner == w.owner);
    }
  }
}

TEST_CASE("join: no join passes a revoke that came first") {
  racing_world w;
  auto token = w.mint_token();
  w.racing->before_append = [&] { w.revoke(token); };
  auto got = w.join_racing(w.request(make_machine(1), token.text()));
  check_refused(w, got, w.head(), refusal_reason::token_revoked, w.owner);
  CHECK(w.count("node.joined") == 0);
}

TEST_CASE("join: expiry is judged when the store decides (case 15)") {
  racing_world w;
  auto token =
      w.mint_token([&](auto& t) { t.expires_at = w.time.now() + seconds{60}; });
  w.time.advance(seconds{55});
  w.racing->before_append = [&] { w.time.advance(seconds{15}); };
  auto head = w.head();
  auto got = w.join_racing(w.request(make_machine(1), token.text()));
  check_refused(w, got, head, refusal_reason::token_expired, w.owner);
  CHECK(w.uses_left(token) == 1);
}

TEST_CASE("join: at the second of expiry a token is expired (case 17)") {
  join_world w;
  auto token = w.mint_token([&](auto& t) {
    t.expires_at = w.time.now() + seconds{60};
    t.max_uses = 2;
  });
  w.time.advance(milliseconds{59'999});
  CHECK(joined(w.join(make_machine(1), token.text())));
  w.time.advance(milliseconds{1});
  check_refused(w, w.join(make_machine(2), token.text()), w.head(),
                refusal_reason::token_expired, w.owner);
}

TEST_CASE("join: a refusal that may be undone is confirmed") {
  racing_world w;
  auto missing = pki::mint<pool_id>(w.time.now());
  auto token = w.mint_token([&](auto& t) { t.pool = missing; });
  w.racing->race_confirmations = true;
  auto make_pool = [&] {
    w.append<events::pool::event>(
        events::stream_of(missing),
        events::pool::created{missing, w.owner, w.site, "late",
                              events::pool::agent::bcd, w.time.now()},
        w.owner);
  };
  SECTION("what was undone meanwhile is not refused") {
    w.racing->before_append = make_pool;
    auto got = w.join_racing(w.request(make_machine(1), token.text()));
    CHECK(joined(got));
    CHECK(got.reports.empty());
  }
  SECTION("what still stands is refused, and writes nothing") {
    auto head = w.head();
    auto got = w.join_racing(w.request(make_machine(1), token.text()));
    check_refused(w, got, head, refusal_reason::join_pool, w.owner);
    CHECK(w.racing->appends == 1);
  }
  SECTION("a reclaim pins the node that holds the hardware") {
    REQUIRE(joined(w.join(make_machine(1), w.mint_token().text())));
    auto holder = node_id::parse(
        w.after(w.head() - 1).back().stream.substr(sizeof "node:" - 1));
    w.racing->before_append = [&] {
      w.append<events::node::event>(
          events::stream_of(holder.value()),
          events::node::adopted{holder.value(), w.time.now()}, w.owner);
    };
    auto second = w.mint_token();
    auto got = w.join_racing(w.request(make_machine(1), second.text()));
    CHECK(got.reports.size() == 1);
    CHECK(got.answer.code == errc::access_denied);
    // Once in vain, once as it now stands.
    CHECK(w.racing->appends == 2);
  }
}

TEST_CASE("join: what never holds still is UNAVAILABLE after three tries") {
  racing_world w;
  auto token = w.mint_token();
  w.racing->always = [&] {
    // The tenant's stream moves each time the join has read it.
    w.append<events::tenant::event>(
        events::stream_of(w.owner),
        events::tenant::created{w.owner,
                                pki::mint<batch_id>(w.time.now()).str(), false,
                                w.time.now()},
        w.owner);
  };
  auto got = w.join_racing(w.request(make_machine(1), token.text()));
  CHECK(got.answer.code == errc::unavailable);
  CHECK(got.answer.time.has_value());
  CHECK(got.reports.empty());
  CHECK(w.racing->appends == 3);
  CHECK(w.uses_left(token) == 1);
  CHECK(w.count("node.joined") == 0);
}

TEST_CASE("join: a key taken at the last moment is refused (case 90)") {
  racing_world w;
  auto a = make_machine(1);
  machine b{a.key.clone(), pki::build_csr(a.key), make_machine(2).claims};
  auto ta = w.mint_token(), tb = w.mint_token();
  w.racing->before_append = [&] {
    CHECK(w.join_aside(w.request(b, tb.text())).what ==
          wire::join_answer::kind::joined);
  };
  auto got = w.join_racing(w.request(a, ta.text()));
  check_refused(w, got, w.head(), refusal_reason::join_csr, w.owner);
  CHECK(w.uses_left(ta) == 1);
}

TEST_CASE("join: cut off at any point, a retry ends well") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token();
  auto head = w.head();
  struct cut {
    fault_point point;
    bool written;
  };
  auto c = GENERATE(cut{fault_point::join_before_append, false},
                    cut{fault_point::join_after_append, true},
                    cut{fault_point::join_before_answer, true},
                    cut{fault_point::store_before_append, false},
                    cut{fault_point::store_before_commit, false});
  arm(c.point, fault_action::error);
  auto got = w.join(m, token.text());
  CHECK(got.answer.code == errc::unavailable);
  CHECK(got.answer.time.has_value());
  CHECK(got.reports.empty());
  CHECK(w.head() == head + (c.written ? 2 : 0));
  CHECK(w.uses_left(token) == (c.written ? 0 : 1));

  auto again = w.join(m, token.text());
  REQUIRE(joined(again));
  CHECK(w.count("node.joined") == 1);
  CHECK(w.uses_left(token) == 0);
  CHECK(w.head() == head + 2);
}

TEST_CASE("join: an append whose outcome was unknown is looked up") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token();
  arm(fault_point::store_after_commit, fault_action::error);
  auto got = w.join(m, token.text());
  REQUIRE(joined(got));
  CHECK(w.count("node.joined") == 1);
  CHECK(w.uses_left(token) == 0);
}

TEST_CASE("join: a ledger that fails is UNAVAILABLE, never a refusal") {
  class failing_ledger : public sync_ledger {
   public:
    using sync_ledger::sync_ledger;
    void holder(
        std::string,
        actors::reply_to<std::optional<events::claim_holder>> done) override {
      done(fail(errc::unavailable, "the store is away"));
    }
  };
  join_world w;
  auto token = w.mint_token();
  auto plain = std::exchange(
      w.ledger, std::make_shared<failing_ledger>(*w.journal, w.time));
  auto got = w.join(make_machine(1), token.text());
  CHECK(got.answer.code == errc::unavailable);
  CHECK(wire::http_status(got.answer) == 503);
  CHECK(got.reports.empty());
  w.ledger = plain;
  CHECK(joined(w.join(make_machine(1), token.text())));
}

}  // namespace
}  // namespace bc::test
