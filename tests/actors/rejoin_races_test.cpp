#include "events/catalog.hpp"
#include "tests/actors/join_racing.hpp"
#include "tests/actors/rejoin_world.hpp"

// What happens to a rejoin under way, and who may stand in between (spec:
// DESIGN section 3; ATTESTATION sections 1.1 and 3).
namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

struct racing_rejoins : racing_in<rejoin_world> {
  member m = admit(1);

  racing_rejoins() { be_over_for(seconds{60}); }
};

TEST_CASE("rejoin: faults at each step leave a machine that can come back") {
  rejoin_world w;
  const auto m = w.admit(1);
  w.be_over_for(seconds{60});
  const auto r = w.rejoining(m, 1, pki::private_key::generate());
  auto failed_at = [&](fault_point point) {
    arm(point, fault_action::error);
    auto got = w.join(r);
    CHECK(got.answer.code == errc::unavailable);
    CHECK(got.answer.what == wire::join_answer::kind::failed);
    CHECK(got.answer.message != "Join refused");
    CHECK(got.answer.time.has_value());
    CHECK(got.reports.empty());
    return w.node(m.id).generation;
  };
  CHECK(failed_at(fault_point::rejoin_before_append) == 1);
  CHECK(failed_at(fault_point::store_before_commit) == 1);
  CHECK(failed_at(fault_point::rejoin_after_append) == 2);
  CHECK(failed_at(fault_point::rejoin_before_answer) == 2);
  CHECK(joined(w.join(r)));
  CHECK(w.count("node.joined") == 2);
  CHECK(w.journal->verify({events::moves_of}).has_value());
}

TEST_CASE("rejoin: two copies of one machine: one wins") {
  racing_rejoins w;
  const auto mine = w.rejoining(w.m, 1, pki::private_key::generate());
  const auto other = w.rejoining(w.m, 1, pki::private_key::generate());
  w.racing->before_append = [&] {
    CHECK(w.join_aside(other).what == wire::join_answer::kind::joined);
  };
  auto got = w.join_racing(mine);
  CHECK(got.answer.code == errc::access_denied);
  // The other one's report comes first, if any; it has none.
  REQUIRE(got.reports.size() == 1);
  CHECK(got.reports[0].reason == refusal_reason::x509pop_generation);
  CHECK(got.reports[0].owner == w.owner);
  CHECK(w.node(w.m.id).generation == 2);
}

TEST_CASE("rejoin: whatever happens just before the append") {
  racing_rejoins w;
  const auto r = w.rejoining(w.m, 1, pki::private_key::generate());
  SECTION("adopted: it is tried again") {
    w.racing->before_append = [&] {
      w.append<node::event>(events::stream_of(w.m.id),
                            node::adopted{w.m.id, w.time.now()}, w.owner);
    };
    CHECK(joined(w.join_racing(r)));
    CHECK(w.racing->appends == 2);
  }
  SECTION("revoked: nothing is issued") {
    w.racing->before_append = [&] {
      w.command(w.m.id, node::revoke_identity{w.time.now(), ""});
    };
    auto got = w.join_racing(r);
    REQUIRE(got.reports.size() == 1);
    CHECK(got.reports[0].reason == refusal_reason::x509pop_revoked);
    CHECK(w.node(w.m.id).generation == 1);
  }
  SECTION("the pool was archived: nothing is issued") {
    w.racing->before_append = [&] { w.archive(w.pool); };
    auto got = w.join_racing(r);
    REQUIRE(got.reports.size() == 1);
    CHECK(got.reports[0].reason == refusal_reason::join_pool);
  }
  SECTION("the same one won: its answer is given") {
    wire::join_answer won;
    w.racing->before_append = [&] { won = w.join_aside(r); };
    auto got = w.join_racing(r);
    REQUIRE(joined(got));
    CHECK(without_time(got.answer) == without_time(won));
    CHECK(w.node(w.m.id).generation == 2);
  }
  SECTION("for ever moving: UNAVAILABLE, no refusal") {
    w.racing->always = [&] {
      w.append<node::event>(events::stream_of(w.m.id),
                            node::adopted{w.m.id, w.time.now()}, w.owner);
    };
    auto got = w.join_racing(r);
    CHECK(got.answer.code == errc::unavailable);
    CHECK(got.reports.empty());
  }
  SECTION("it took too long: judged again, by the store's clock") {
    w.racing->before_append = [&] { w.time.advance(seconds{121}); };
    auto got = w.join_racing(r);
    REQUIRE(got.reports.size() == 1);
    CHECK(got.reports[0].reason == refusal_reason::x509pop_challenge_expired);
    CHECK(w.node(w.m.id).generation == 1);
  }
}

TEST_CASE("rejoin: a hostile gateway gets no certificate of its own") {
  rejoin_world w;
  const auto m = w.admit(1), other = w.admit(2);
  w.be_over_for(seconds{60});
  const auto mallory = pki::private_key::generate();
  const auto good = w.rejoining(m, 1, pki::private_key::generate());
  const auto head = w.head();
  auto refused_as = [&](const wire::join_request& r, refusal_reason why) {
    check_rejoin_refused(w, w.join(r), head, why, w.root);
  };
  SECTION("its own CSR under the machine's proof") {
    auto r = good;
    r.csr = pki::build_csr(mallory);
    refused_as(r, refusal_reason::x509pop_pop);
  }
  SECTION("its own challenge, for its own CSR, under the machine's proof") {
    auto r = good;
    r.csr = pki::build_csr(mallory);
    const auto given = w.challenge(r.csr, m.leaf());
    r.x509pop->nonce = given.nonce;
    r.x509pop->expires_ms = given.expires_ms;
    refused_as(r, refusal_reason::x509pop_pop);
  }
  SECTION("the legs of two machines mixed") {
    auto r = good;
    r.x509pop->chain = other.chain;
    r.node_id = other.id.str();
    refused_as(r, refusal_reason::x509pop_pop);
  }
  SECTION("what the machine claims altered") {
    auto r = good;
    r.hardware.macs = {"3c:ec:ef:aa:bb:cc"};
    refused_as(r, refusal_reason::x509pop_pop);
    r = good;
    r.site_id.clear();
    refused_as(r, refusal_reason::x509pop_pop);
  }
  SECTION("a challenge that it prolonged") {
    auto r = good;
    r.x509pop->expires_ms -= 1;
    refused_as(r, refusal_reason::x509pop_pop);
    r.x509pop->expires_ms += 60'000;
    refused_as(r, refusal_reason::x509pop_challenge_expired);
  }
  SECTION("kept back until the challenge is over") {
    w.time.advance(seconds{120});
    refused_as(good, refusal_reason::x509pop_challenge_expired);
  }
  SECTION("its own guess at the secret: it has no key to sign with") {
    auto r = good;
    sign(r, mallory, w.challenge(r.csr, m.leaf()).payload);
    refused_as(r, refusal_reason::x509pop_pop);
  }
  CHECK(joined(w.rejoin(m, 1)));
}

}  // namespace
}  // namespace bc::test
