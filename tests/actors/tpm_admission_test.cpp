// spec: ATTESTATION sections 2.6, 9 and 1.2; CASES 117, 124, 127
#include "pki/certificate.hpp"
#include "tests/actors/attested_world.hpp"
#include "tests/actors/tpm_world.hpp"

namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

const node::certificate& newest(const node::state& s) {
  return s.certificates.back().cert;
}

TEST_CASE("tpm: an allowed EK joins, and its certificate names its AK") {
  tpm_world w;
  const auto m = w.machine_of(1);
  w.allow(m);
  const auto id = w.join_well(m);
  const auto state = w.node(id);
  CHECK(state.node->attestor == "tpm");
  CHECK(state.node->node_key == "tpm");
  CHECK(state.node->ek_hash == m.ek_hash());
  CHECK(state.node->token.empty());
  CHECK(state.node->pool == w.pool);
  CHECK(state.node->tenant == w.owner);
  CHECK_FALSE(state.node->reclaim);
  CHECK(newest(state).statements == std::vector{m.statement()});
  auto leaf = pki::parse_certificate(newest(state).der);
  REQUIRE(leaf.has_value());
  // The identity first, then what is said of the key.
  REQUIRE(leaf.value().uris.size() == 2);
  CHECK(leaf.value().uris[1] == m.statement());
  CHECK(w.count("node.joined") == 1);
}

TEST_CASE("tpm: every kind of EK and of AK joins") {
  using testing::key_kind;
  for (auto kind :
       {key_kind::rsa_2048, key_kind::rsa_3072, key_kind::p256, key_kind::p384})
    for (auto ak : {key_kind::p256, key_kind::p384, key_kind::rsa_2048}) {
      tpm_world w;
      auto m = w.machine_of(1);
      m.ek = testing::make_ek(kind);
      m.key.ak = testing::make_ak(ak);
      w.allow(m);
      CHECK(newest(w.node(w.join_well(m))).statements ==
            std::vector{m.statement()});
    }
}

TEST_CASE("tpm: an attestor may shorten its certificates") {
  tpm_world w;
  const auto m = w.machine_of(1);
  w.allow(m);
  w.tpm->max_lifetime = seconds{3600};
  const auto state = w.node(w.join_well(m));
  CHECK(newest(state).not_after - newest(state).not_before == seconds{3600});
}

TEST_CASE("tpm: certificates stay short as long as the node is its EK's") {
  tpm_world w;
  auto m = w.machine_of(1);
  w.allow(m);
  w.tpm->max_lifetime = seconds{3600};
  auto got = w.join_by_tpm(m);
  REQUIRE(joined(got));
  auto known = member_of(got.answer, m.key.node_key);
  const auto lasts = [&] {
    const auto c = newest(w.node(known.id));
    return c.not_after - c.not_before;
  };
  m.renew_key();
  got = w.renew(attested_renewal(w, known, m.key), known.leaf());
  REQUIRE(renewed(got));
  CHECK(lasts() == seconds{3600});
  known = member_of(got.answer, m.key.node_key);
  w.be_over_for(seconds{60});
  m.renew_key();
  got = w.join(attested_rejoin(w, known, m.key));
  REQUIRE(joined(got));
  CHECK(w.node(known.id).generation == 2);
  CHECK(lasts() == seconds{3600});
  // Of others they last as ever.
  auto other = w.renew_well(w.admit(7));
  const auto c = newest(w.node(other.id));
  CHECK(c.not_after - c.not_before == w.lifetime);
}

// The EK is the binding: such hardware needs no token for it alone.
TEST_CASE("tpm: a machine whose firmware names nothing joins by its EK") {
  tpm_world w;
  auto m = w.machine_of(1);
  m.claims = {};
  m.claims.product_serial = "To Be Filled By O.E.M.";
  w.allow(m);
  const auto state = w.node(w.join_well(m));
  CHECK_FALSE(state.node->hardware_key_trusted);
  // And is the same node again.
  m.renew_key();
  auto again = w.join_by_tpm(m);
  REQUIRE(joined(again));
  CHECK(node_of(again.answer) == state.node->id);
}

TEST_CASE("tpm: a key in no TPM is unattested, where that is allowed") {
  tpm_world w;
  const auto m = w.machine_of(1);
  w.allow(m);
  auto r = w.joining(m);
  r.tpm->node_key_public.clear();
  r.tpm->certify_info.clear();
  r.tpm->certify_signature.clear();
  w.tpm->judge.require_certified_key = false;
  auto got = w.join(r);
  REQUIRE(joined(got));
  const auto state = w.node(node_of(got.answer));
  CHECK(state.node->node_key == "unattested");
  CHECK(newest(state).statements.empty());
  CHECK(state.node->ek_hash == m.ek_hash());
}

TEST_CASE("tpm: no EK certificate, allowed by its hash (case 117)") {
  tpm_world w;
  const auto m = w.machine_of(1);
  REQUIRE(m.ek_certificate.empty());
  w.allow(m);
  CHECK(joined(w.join_by_tpm(m)));
}

TEST_CASE("tpm: where verified EKs are let in, a certificate is enough") {
  tpm_world w;
  auto m = w.machine_of(1);
  w.tpm->admit_verified = {{w.site, w.pool}};
  m.ek_certificate = testing::make_ek_certificate(m.ek, ek_vendor());
  CHECK(w.node(w.join_well(m)).node->pool == w.pool);
  // At that site alone.
  auto elsewhere = w.machine_of(2);
  elsewhere.ek_certificate =
      testing::make_ek_certificate(elsewhere.ek, ek_vendor());
  elsewhere.site = w.new_site().str();
  const auto head = w.head();
  check_tpm_refused(w, w.join_by_tpm(elsewhere), head,
                    refusal_reason::tpm_ek_unknown, w.root);
}

TEST_CASE("tpm: a bound EK takes its own node back, and no other list") {
  tpm_world w;
  auto m = w.machine_of(1);
  w.allow(m);
  const auto id = w.join_well(m);
  w.tpm->allowed.clear();
  m.renew_key();
  auto got = w.join_by_tpm(m);
  REQUIRE(joined(got));
  CHECK(node_of(got.answer) == id);
  const auto state = w.node(id);
  CHECK(state.generation == 2);
  CHECK(state.node->reclaim);
  CHECK(state.certificates.front().revoked_for == node::revocation::reclaimed);
  CHECK(state.node->ek_hash == m.ek_hash());
}

TEST_CASE("tpm: a cleared TPM has another AK and is the same node (case 124)") {
  tpm_world w;
  auto m = w.machine_of(1);
  w.allow(m);
  const auto id = w.join_well(m);
  const auto before = m.statement();
  m.key.ak = testing::make_ak(testing::key_kind::p256, 50);
  m.renew_key();
  REQUIRE(m.statement() != before);
  CHECK(w.join_well(m) == id);
  CHECK(newest(w.node(id)).statements == std::vector{m.statement()});
}

// Discrete TPMs move, boards are swapped: the node goes with its EK, and what
// it was on before is free for another.
TEST_CASE("tpm: the same EK on other hardware is the same node") {
  tpm_world w;
  auto m = w.machine_of(1);
  const auto old_board = m.claims;
  w.allow(m);
  const auto id = w.join_well(m);
  m.claims = make_machine(9).claims;
  m.renew_key();
  CHECK(w.join_well(m) == id);
  CHECK(w.node(id).node->hardware_changed);
  auto other = w.machine_of(2);
  other.claims = old_board;
  w.allow(other);
  CHECK(w.join_well(other) != id);
  // A board that names nothing gives its key up too.
  const bool and_back = GENERATE(false, true);
  m.claims = {};
  m.renew_key();
  if (and_back)
    w.time.advance(seconds{601});
  CHECK(w.join_well(m) == id);
  machine third;
  third.claims = make_machine(9).claims;
  CHECK(joined(w.join(third, w.mint_token().text())));
}

TEST_CASE(
    "tpm: a new EK on a known machine waits for nodes.delete (case 124)") {
  tpm_world w;
  auto old_tpm = w.machine_of(1), new_tpm = w.machine_of(2);
  new_tpm.claims = old_tpm.claims;
  w.allow(old_tpm);
  w.allow(new_tpm);
  const auto id = w.join_well(old_tpm);
  const auto head = w.head();
  check_tpm_refused(w, w.join_by_tpm(new_tpm), head,
                    refusal_reason::tpm_ek_bound, w.owner);
  w.retire(id);
  const auto next = w.join_well(new_tpm);
  CHECK(next != id);
  // Deleting freed the old EK too; its hardware is the new node's now.
  const auto then = w.head();
  old_tpm.renew_key();
  check_tpm_refused(w, w.join_by_tpm(old_tpm), then,
                    refusal_reason::tpm_ek_bound, w.owner);
  old_tpm.claims = make_machine(30).claims;
  CHECK(w.join_well(old_tpm) != id);
}

// ATTESTATION 9a: whatever the token allows.
TEST_CASE("tpm: a token does not take an EK's node") {
  tpm_world w;
  const auto m = w.machine_of(1);
  w.allow(m);
  w.join_well(m);
  machine thief;
  thief.claims = m.claims;
  for (const auto& token : {w.mint_token(), w.mint_reclaim_token()}) {
    const auto head = w.head();
    check_refused(w, w.join(thief, token.text()), head,
                  refusal_reason::join_reclaim, w.owner);
    CHECK(w.uses_left(token) == 1);
  }
}

TEST_CASE("tpm: of another pool or site than its node's is no reclaim") {
  tpm_world w;
  auto m = w.machine_of(1);
  w.allow(m);
  const auto id = w.join_well(m);
  m.renew_key();
  w.allow(m, w.new_pool(w.owner, w.site, events::pool::agent::bcd));
  auto head = w.head();
  check_tpm_refused(w, w.join_by_tpm(m), head, refusal_reason::join_reclaim,
                    w.owner);
  w.tpm->allowed.clear();
  m.site = w.new_site().str();
  head = w.head();
  check_tpm_refused(w, w.join_by_tpm(m), head, refusal_reason::join_site,
                    w.owner);
  CHECK(w.node(id).generation == 1);
}

TEST_CASE("tpm: revoking an identity ends what the EK may by itself") {
  tpm_world w;
  auto m = w.machine_of(1);
  w.allow(m);
  const auto id = w.join_well(m);
  // However long the machine was away.
  const bool long_gone = GENERATE(false, true);
  if (long_gone)
    w.time.advance(seconds{20 * 86'400});
  w.command(id, node::revoke_identity{w.time.now(), ""});
  CHECK(node::is_identity_revoked(w.node(id)));
  m.renew_key();
  SECTION("bound is not enough any more") {
    w.tpm->allowed.clear();
    const auto head = w.head();
    // Its owner is told that it tries.
    check_tpm_refused(w, w.join_by_tpm(m), head, refusal_reason::tpm_ek_unknown,
                      w.owner);
    // With enrollment a person is asked, and the node is the same.
    w.enroll();
    w.approve(w.deferred(m));
    CHECK(w.join_well(m) == id);
    CHECK_FALSE(node::is_identity_revoked(w.node(id)));
  }
  SECTION("who allows it lets it in; deny keeps it out") {
    w.tpm->judge.denied = {m.ek_hash()};
    const auto head = w.head();
    check_tpm_refused(w, w.join_by_tpm(m), head, refusal_reason::tpm_ek_denied,
                      w.root);
    w.tpm->judge.denied.clear();
    CHECK(w.join_well(m) == id);
  }
}

// Two virtual machines with one TPM prove the same EK and AK: they are one
// node, which each takes from the other, until somebody is told.
TEST_CASE("tpm: a cloned TPM does not take its node for ever (case 127)") {
  tpm_world w;
  auto m = w.machine_of(1), clone = w.machine_of(1);
  w.allow(m);
  const auto id = w.join_well(m);
  CHECK(w.join_well(clone) == id);
  m.renew_key();
  CHECK(w.join_well(m) == id);
  CHECK(w.count("security.certificate-revoked") == 2);
  clone.renew_key();
  auto got = w.join_by_tpm(clone);
  CHECK_FALSE(joined(got));
  REQUIRE(got.reports.size() == 1);
  CHECK(got.reports.front().reason == refusal_reason::join_reclaim);
  CHECK(w.count("node.clone-suspected") == 1);
  CHECK(w.node(id).generation == 3);
}

TEST_CASE("tpm: a lost answer is given again to the same CSR") {
  tpm_world w;
  const auto m = w.machine_of(1);
  w.allow(m);
  const auto first = w.join_by_tpm(m);
  REQUIRE(joined(first));
  const auto head = w.head();
  w.time.advance(seconds{300});
  SECTION("with another challenge") {
    auto again = w.join_by_tpm(m);
    REQUIRE(joined(again));
    CHECK(again.answer.body == first.answer.body);
    CHECK(again.answer.signature == first.answer.signature);
    CHECK(w.head() == head);
  }
  SECTION("not to another TPM that has the CSR") {
    auto other = w.machine_of(2);
    other.key.node_key = m.key.node_key.clone();
    other.key.csr = m.key.csr;
    other.key.area = testing::node_key_area(other.key.node_key.pub());
    w.allow(other);
    check_tpm_refused(w, w.join_by_tpm(other), head, refusal_reason::join_csr,
                      w.owner);
  }
  SECTION("another CSR is a reclaim") {
    auto next = w.machine_of(1);
    CHECK(w.join_well(next) == node_of(first.answer));
    CHECK(w.node(node_of(first.answer)).generation == 2);
    // After which the first is no answer any more.
    const auto then = w.head();
    check_tpm_refused(w, w.join_by_tpm(m), then, refusal_reason::join_csr,
                      w.owner);
  }
  SECTION("not after ten minutes") {
    w.time.advance(seconds{301});
    check_tpm_refused(w, w.join_by_tpm(m), head, refusal_reason::join_csr,
                      w.owner);
  }
}

TEST_CASE("tpm: a renewal of what was joined goes on in the TPM") {
  tpm_world w;
  auto m = w.machine_of(1);
  w.allow(m);
  auto got = w.join_by_tpm(m);
  REQUIRE(joined(got));
  const auto known = member_of(got.answer, m.key.node_key);
  m.renew_key();
  const auto head = w.head();
  auto plain = w.renewal(known, m.key.node_key);
  check_renew_refused(w, w.renew(plain, known.leaf()), head,
                      refusal_reason::renew_key_attestation, w.owner);
  CHECK(renewed(w.renew(attested_renewal(w, known, m.key), known.leaf())));
  CHECK(newest(w.node(known.id)).statements == std::vector{m.statement()});
}

TEST_CASE("tpm: a fault before and after the append strands no machine") {
  tpm_world w;
  const auto m = w.machine_of(1);
  w.allow(m);
  const auto r = w.joining(m);
  for (auto point :
       {fault_point::join_before_append, fault_point::join_after_append,
        fault_point::join_before_answer}) {
    arm(point, fault_action::error);
    auto got = w.join(r);
    CHECK(got.answer.code == errc::unavailable);
    CHECK(got.reports.empty());
    disarm_all();
  }
  CHECK(joined(w.join(r)));
  CHECK(w.count("node.joined") == 1);
}

}  // namespace
}  // namespace bc::test
