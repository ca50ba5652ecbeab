// spec: ATTESTATION sections 1.1, 2.1 and 8.6: what the first leg says, and
// what a gateway between the legs can do.
#include "tests/actors/tpm_world.hpp"

namespace bc::test {
namespace {

using events::refusal_reason;

TEST_CASE("tpm challenge: what is no EK is refused as a join would be") {
  tpm_world w;
  const auto m = w.machine_of(1);
  const auto bytes_of_a_refusal = without_time(w.join_by_tpm(m).answer);
  const auto head = w.head();
  struct bad {
    refusal_reason reason;
    std::function<void(wire::tpm_challenge_evidence&)> change;
  };
  const bad all[] = {
      {refusal_reason::tpm_malformed,
       [](auto& e) { e.ek_public.push_back(0); }},
      {refusal_reason::tpm_malformed, [](auto& e) { e.ak_public = {1}; }},
      {refusal_reason::tpm_ek_template,
       [&](auto& e) { e.ek_public = m.key.ak.encoded(); }},
  };
  for (const auto& one : all) {
    auto leg = m.first_leg();
    one.change(*leg.tpm);
    auto answer = w.ask(leg);
    CHECK(without_time(answer) == bytes_of_a_refusal);
    CHECK(answer.time);
    REQUIRE(w.reports.size() == 1);
    CHECK(w.reports.front().reason == one.reason);
    CHECK(w.reports.front().attestor == "tpm");
    CHECK(w.reports.front().owner == w.root);
    CHECK(w.reports.front().hardware_key.empty());
  }
  // Nothing of the AK but its Name, and nothing of the lists, is said so early.
  auto leg = m.first_leg();
  auto ak = m.key.ak.area;
  ak.attributes = 0;
  leg.tpm->ak_public = pki::tpm::encode(ak);
  w.tpm->judge.denied = {m.ek_hash()};
  CHECK(w.ask(leg).what == wire::join_answer::kind::challenge);
  CHECK(w.reports.empty());

  leg.tpm.reset();
  auto none = w.ask(leg);
  CHECK(none.code == errc::invalid_input);
  CHECK(none.path == "/evidence/tpm");
  CHECK(w.head() == head);
}

// ATTESTATION 8.6.
TEST_CASE("tpm relay: what a gateway can swap, it cannot use") {
  tpm_world w;
  auto m = w.machine_of(1), thief = w.machine_of(2);
  w.allow(m);
  const auto honest = w.joining(m);
  const auto head = w.head();
  auto refused = [&](const wire::join_request& r, refusal_reason why) {
    check_tpm_refused(w, w.join(r), head, why, w.root);
  };
  SECTION("its own CSR in leg 4") {
    auto r = honest;
    r.csr = thief.key.csr;
    refused(r, refusal_reason::tpm_activation);
  }
  SECTION("its own CSR in leg 1") {
    // The machine refuses such an answer; suppose it did not.
    auto leg = m.first_leg();
    leg.csr_sha256 = to_bytes(pki::sha256(thief.key.csr));
    auto r = honest;
    r.csr = thief.key.csr;
    auto given = w.ask(leg);
    const auto body = wire::decode_challenge_body(given.body).value();
    CHECK(body.csr_sha256 == leg.csr_sha256);
    r.tpm = m.answer(body);
    refused(r, refusal_reason::tpm_node_key_binding);
    r.tpm->node_key_public.clear();
    r.tpm->certify_info.clear();
    r.tpm->certify_signature.clear();
    refused(r, refusal_reason::tpm_node_key_missing);
  }
  SECTION("another site or other hardware than was claimed in leg 1") {
    auto r = honest;
    r.site_id = w.new_site().str();
    const auto now = w.head();
    check_tpm_refused(w, w.join(r), now, refusal_reason::tpm_activation,
                      w.root);
    r = honest;
    r.hardware.macs = {"3c:ec:ef:00:00:99"};
    check_tpm_refused(w, w.join(r), now, refusal_reason::tpm_activation,
                      w.root);
  }
  SECTION("its own EK, or its own AK") {
    auto r = honest;
    r.tpm->ek_public = thief.ek.encoded();
    refused(r, refusal_reason::tpm_activation);
    r = honest;
    r.tpm->ak_public = thief.key.ak.encoded();
    refused(r, refusal_reason::tpm_activation);
  }
  SECTION("the legs of two machines") {
    const auto other = w.joining(thief);
    auto r = honest;
    r.tpm->nonce = other.tpm->nonce;
    r.tpm->activation = other.tpm->activation;
    refused(r, refusal_reason::tpm_activation);
    r = honest;
    r.tpm->certify_info = other.tpm->certify_info;
    r.tpm->certify_signature = other.tpm->certify_signature;
    refused(r, refusal_reason::tpm_node_key_signer);
  }
  SECTION("it answers leg 2 itself") {
    // A challenge of its own making names no key of this deployment.
    wire::challenge_body made;
    made.kid = "sha256/mallory";
    made.nonce = bytes(16, 7);
    made.expires_ms = to_millis(w.time.now() + seconds{60});
    auto r = honest;
    auto& e = *r.tpm;
    e.kid = made.kid;
    e.nonce = made.nonce;
    e.expires_ms = made.expires_ms;
    refused(r, refusal_reason::tpm_challenge_unknown);
  }
  SECTION("it holds leg 4 back") {
    w.time.advance(seconds{120});
    refused(honest, refusal_reason::tpm_challenge_expired);
  }
  SECTION("it moves the end") {
    auto r = honest;
    r.tpm->expires_ms += 1;
    refused(r, refusal_reason::tpm_activation);
  }
  SECTION("it repeats leg 4") {
    auto first = w.join(honest);
    REQUIRE(joined(first));
    const auto after = w.head();
    // The answer that the machine has, and nothing new.
    auto again = w.join(honest);
    REQUIRE(joined(again));
    CHECK(again.answer.body == first.answer.body);
    CHECK(w.head() == after);
    // Once that answer is void, nothing.
    w.command(node_of(first.answer),
              events::node::revoke_identity{w.time.now(), ""});
    const auto revoked = w.head();
    check_tpm_refused(w, w.join(honest), revoked,
                      refusal_reason::tpm_challenge_replayed, w.owner);
  }
}

}  // namespace
}  // namespace bc::test
