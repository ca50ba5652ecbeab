#include "pki/certificate.hpp"
#include "tests/actors/rejoin_world.hpp"

// Machines that were away, and clocks that are off (spec: joining#renewal).
namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

TEST_CASE("renew: what an operator did meanwhile") {
  renew_world w;
  const auto m = w.admit(1);
  SECTION("cordoned: it renews") {
    w.command(m.id, node::cordon{w.time.now(), "x"});
    w.renew_well(m);
    CHECK(w.node(m.id).current == node::status::cordoned);
  }
  SECTION("deleted: it does not (case 67)") {
    w.retire(m.id);
    const auto head = w.head();
    check_renew_refused(w, w.renew(m), head, refusal_reason::renew_revoked,
                        w.owner);
  }
  SECTION("reclaimed: the machine of before does not, the new one does") {
    const auto back = w.reclaim(1);
    REQUIRE(back.id == m.id);
    const auto head = w.head();
    check_renew_refused(w, w.renew(m), head, refusal_reason::renew_revoked,
                        w.owner);
    w.renew_well(back);
    CHECK(w.node(m.id).generation == 2);
  }
}

// spec: the matrix of offline x clock x meanwhile, as far as it is the
// server's: what a machine that comes back is answered.
TEST_CASE(
    "renew: back after an hour, a day or six, by a clock that may be off") {
  enum class meanwhile { nothing, reclaimed, revoked, keys_rotated };
  struct offline {
    seconds time;
    bool expired;
  };
  const offline times[] = {{seconds{3600}, false},
                           {seconds{23 * 3600}, false},
                           {seconds{6 * 86'400}, true}};
  const seconds clocks[] = {seconds{0}, seconds{-2 * 86'400},
                            seconds{2 * 86'400}};
  for (const auto& off : times)
    for (const auto clock : clocks)
      for (auto what : {meanwhile::nothing, meanwhile::reclaimed,
                        meanwhile::revoked, meanwhile::keys_rotated}) {
        CAPTURE(off.time.count(), clock.count(), static_cast<int>(what));
        renew_world w;
        const auto m = w.admit(1);
        w.time.advance(off.time);
        if (what == meanwhile::reclaimed)
          REQUIRE(w.reclaim(1).id == m.id);
        if (what == meanwhile::revoked)
          w.command(m.id, node::revoke_identity{w.time.now(), ""});
        if (what == meanwhile::keys_rotated)
          w.keys = std::make_shared<const pki::key_bundle>(
              pki::make_bundle("compute.example.test", w.time.now()).value());
        const auto head = w.head();
        auto got = w.renew(w.renewal(m, pki::private_key::generate(), clock),
                           m.leaf());

        const bool forgotten = off.expired && what == meanwhile::reclaimed;
        if (forgotten) {
          // Over before the node was taken back: nothing is kept of it.
          check_renew_refused(w, got, head, refusal_reason::renew_certificate,
                              w.root);
          continue;
        }
        if (clock != seconds{0}) {
          check_renew_refused(w, got, head, refusal_reason::renew_client_time,
                              w.owner);
          // Corrected by the signed time of the refusal, it asks once more.
          REQUIRE(got.answer.time);
          const auto right =
              from_millis(got.answer.time->time_ms) - (w.time.now() + clock);
          got =
              w.renew(w.renewal(m, pki::private_key::generate(), clock + right),
                      m.leaf());
        }
        const bool revoked = what == meanwhile::revoked ||
                             (what == meanwhile::reclaimed && !off.expired);
        if (off.expired && !revoked) {
          check_renew_refused(w, got, head, refusal_reason::renew_expired,
                              w.owner);
        } else if (revoked) {
          check_renew_refused(w, got, head, refusal_reason::renew_revoked,
                              w.owner);
        } else {
          REQUIRE(renewed(got));
          auto body = wire::decode_joined_body(got.answer.body).value();
          // Under the keys of today.
          CHECK(pki::is_signed_by(body.certificate_chain.front(),
                                  w.keys->node_ca.certificate));
        }
      }
}

// The rungs of the ladder that a machine with its key in a file climbs: renew,
// then x509pop, then a person (ATTESTATION section 3, case 108).
TEST_CASE("rejoin: back after an hour, a day, six or eight: which rung") {
  enum class meanwhile { nothing, reclaimed, revoked, deleted, keys_rotated };
  enum class rung { renewal, x509pop, person };
  const seconds times[] = {seconds{3600}, seconds{23 * 3600},
                           seconds{6 * 86'400}, seconds{8 * 86'400}};
  const seconds clocks[] = {seconds{0}, seconds{-2 * 86'400},
                            seconds{2 * 86'400}};
  for (const auto off : times)
    for (const auto clock : clocks)
      for (auto what :
           {meanwhile::nothing, meanwhile::reclaimed, meanwhile::revoked,
            meanwhile::deleted, meanwhile::keys_rotated}) {
        CAPTURE(off.count(), clock.count(), static_cast<int>(what));
        rejoin_world w;
        const auto m = w.admit(1);
        // Seven days count from the certificate's end.
        w.time.advance(off + (off > w.lifetime ? w.lifetime : seconds{0}));
        if (what == meanwhile::reclaimed)
          REQUIRE(w.reclaim(1).id == m.id);
        if (what == meanwhile::revoked)
          w.command(m.id, node::revoke_identity{w.time.now(), ""});
        if (what == meanwhile::deleted)
          w.retire(m.id);
        if (what == meanwhile::keys_rotated)
          w.keys = std::make_shared<const pki::key_bundle>(
              pki::make_bundle("compute.example.test", w.time.now()).value());
        const bool is_its_own =
            what == meanwhile::nothing || what == meanwhile::keys_rotated;
        const auto expected = !is_its_own                  ? rung::person
                              : off < w.lifetime           ? rung::renewal
                              : off <= node::rejoin_window ? rung::x509pop
                                                           : rung::person;

        // By the signed time it asks with the right clock, the second time.
        auto got = w.renew(w.renewal(m, pki::private_key::generate(), clock),
                           m.leaf());
        if (!renewed(got) && clock != seconds{0}) {
          REQUIRE(got.answer.time);
          got = w.renew(m);
        }
        auto reached = rung::renewal;
        if (!renewed(got)) {
          const auto head = w.head();
          const auto back = w.rejoin(m, 1);
          reached = joined(back) ? rung::x509pop : rung::person;
          if (!joined(back))
            CHECK(w.head() == head);
          else
            CHECK(node_of(back.answer) == m.id);
        }
        CHECK(static_cast<int>(reached) == static_cast<int>(expected));
      }
}

TEST_CASE("renew: clocks that step back, and the end of a year (case 112)") {
  renew_world w;
  auto m = w.admit(1);
  const auto r = w.renewal(m, pki::private_key::generate());
  REQUIRE(renewed(w.renew(r, m.leaf())));
  m = w.renew_well(m);
  // An hour back: the machine's clock, corrected, goes with the server's.
  w.time.advance(seconds{-3600});
  m = w.renew_well(m);
  CHECK(node::current_certificate(w.node(m.id), w.time.now()) != nullptr);
  // What was captured is no better for it, when its time comes again.
  w.time.advance(seconds{3600});
  check_renew_refused(w, w.renew(r, w.node(m.id).certificates[0].cert.der),
                      w.head(), refusal_reason::renew_replayed, w.owner);
  for (const auto* at :
       {"2027-02-28T23:59:59.999Z", "2027-12-31T23:59:59.999Z",
        "2028-02-28T23:59:59.999Z", "2028-02-29T23:59:59.999Z"}) {
    CAPTURE(at);
    w.time.set(from_rfc3339(at).value());
    const auto fresh = w.admit(static_cast<int>(w.head()));
    const auto next = w.renew_well(fresh);
    auto leaf = pki::parse_certificate(next.leaf()).value();
    CHECK(leaf.not_after - leaf.not_before == pki::max_node_lifetime);
    CHECK(leaf.not_before <= w.time.now());
    w.time.advance(seconds{2});
    w.renew_well(next);
  }
}

}  // namespace
}  // namespace bc::test
