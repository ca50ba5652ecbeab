// spec: ATTESTATION sections 2.6, 8.8 and 9h, joining#join-requests; CASES 24,
// 117, 128, 134
#include "tests/actors/tpm_world.hpp"

namespace bc::test {
namespace {

using events::refusal_reason;
namespace jr = events::join_request;

TEST_CASE("tpm: an unknown EK waits, and joins once approved (case 117)") {
  tpm_world w;
  w.enroll();
  const auto m = w.machine_of(1);
  const auto id = w.deferred(m);
  const auto waiting = w.request_state(id);
  const auto& asked = *waiting.request;
  CHECK(asked.attestor == "tpm");
  CHECK(asked.subject == "tpm:" + m.ek_hash());
  CHECK(asked.site == w.site);
  CHECK_FALSE(asked.pool);
  CHECK(asked.tenant == w.owner);
  REQUIRE(asked.seen.tpm);
  CHECK(asked.seen.tpm->ek_hash == m.ek_hash());
  CHECK(asked.seen.tpm->certificate == jr::ek_certificate::absent);
  CHECK(asked.seen.csr_sha256 == to_hex(pki::sha256(m.key.csr)));
  CHECK(asked.seen.trusted);
  CHECK(asked.place);
  CHECK(w.count("node.joined") == 0);

  // The same machine again: nothing is written.
  const auto head = w.head();
  CHECK(w.deferred(m) == id);
  CHECK(w.head() == head);

  w.approve(id);
  const auto node = w.join_well(m);
  CHECK(w.node(node).node->pool == w.pool);
  CHECK(w.node(node).node->ek_hash == m.ek_hash());
  const auto used = w.request_state(id);
  CHECK(jr::status_at(used, w.time.now()) == jr::status::consumed);
  CHECK(used.node == node);
}

TEST_CASE("tpm: an approval admits once (case 24)") {
  tpm_world w;
  w.enroll();
  const auto m = w.machine_of(1);
  w.approve(w.deferred(m));
  const auto first = w.join_by_tpm(m);
  REQUIRE(joined(first));
  const auto head = w.head();
  // The stored answer, while it lives; then the key is used.
  CHECK(w.join_by_tpm(m).answer.body == first.answer.body);
  w.time.advance(seconds{601});
  check_tpm_refused(w, w.join_by_tpm(m), head, refusal_reason::join_csr,
                    w.owner);
}

TEST_CASE("tpm: another CSR after the approval is not admitted (case 134)") {
  tpm_world w;
  w.enroll();
  auto a = w.machine_of(1), b = w.machine_of(1);
  const auto approved = w.deferred(a);
  w.approve(approved);
  const auto pending = w.deferred(b);
  CHECK(pending != approved);
  CHECK(joined(w.join_by_tpm(a)));
  CHECK(jr::status_at(w.request_state(approved), w.time.now()) ==
        jr::status::consumed);
  CHECK(jr::status_at(w.request_state(pending), w.time.now()) ==
        jr::status::pending);
}

TEST_CASE("tpm: a new CSR refreshes what is pending, and is what is approved") {
  tpm_world w;
  w.enroll();
  auto m = w.machine_of(1);
  const auto before = w.machine_of(1);
  const auto id = w.deferred(before);
  CHECK(w.deferred(m) == id);
  CHECK(w.request_state(id).request->seen.csr_sha256 ==
        to_hex(pki::sha256(m.key.csr)));
  w.approve(id);
  CHECK(joined(w.join_by_tpm(m)));
}

TEST_CASE("tpm: a rejected CSR is refused, a new one may ask again") {
  tpm_world w;
  w.enroll();
  auto m = w.machine_of(1);
  const auto id = w.deferred(m);
  w.reject(id);
  const auto head = w.head();
  check_tpm_refused(w, w.join_by_tpm(m), head,
                    refusal_reason::tpm_ek_request_rejected, w.root);
  m.renew_key();
  CHECK(w.deferred(m) != id);
}

TEST_CASE("tpm: an approval ends, and the machine asks again") {
  tpm_world w;
  w.enroll();
  const auto m = w.machine_of(1);
  const auto id = w.deferred(m);
  w.approve(id);
  w.time.advance(seconds{3600});
  CHECK(w.deferred(m) != id);
}

TEST_CASE("tpm: an approved machine is still judged by its pool") {
  tpm_world w;
  w.enroll();
  const auto m = w.machine_of(1);
  const auto id = w.deferred(m);
  w.approve(id);
  w.archive(w.pool);
  const auto head = w.head();
  check_tpm_refused(w, w.join_by_tpm(m), head, refusal_reason::join_pool,
                    w.owner);
  CHECK(jr::status_at(w.request_state(id), w.time.now()) ==
        jr::status::approved);
}

TEST_CASE("tpm: a verified EK takes none of its site's places") {
  tpm_world w;
  w.enroll(1);
  w.places.taken = {0};
  auto m = w.machine_of(1);
  const auto head = w.head();
  check_tpm_refused(w, w.join_by_tpm(m), head,
                    refusal_reason::tpm_enrollment_full, w.root);
  m.ek_certificate = testing::make_ek_certificate(m.ek, ek_vendor());
  const auto state = w.request_state(w.deferred(m));
  CHECK_FALSE(state.request->place);
  CHECK(state.request->seen.tpm->certificate == jr::ek_certificate::verified);
  CHECK(state.request->seen.tpm->model == "SLB9670");
}

// A machine whose TPM is made anew at each boot: its requests are bounded, and
// an approval of an old one admits nothing else.
TEST_CASE("tpm: a new EK at each boot fills no queue for ever (case 128)") {
  tpm_world w;
  w.enroll(4);
  std::vector<join_request_id> waiting;
  for (int boot = 1; boot <= 8; ++boot) {
    auto m = w.machine_of(boot);
    m.claims = make_machine(1).claims;
    auto got = w.join_by_tpm(m);
    if (boot <= 4) {
      REQUIRE(got.answer.what == wire::join_answer::kind::deferred);
      auto body = wire::decode_deferred_body(got.answer.body).value();
      waiting.push_back(join_request_id::parse(body.request_id).value());
      w.places.taken.push_back(*w.request_state(waiting.back()).request->place);
    } else {
      REQUIRE(got.reports.size() == 1);
      CHECK(got.reports.front().reason == refusal_reason::tpm_enrollment_full);
    }
  }
  w.approve(waiting.front());
  auto next = w.machine_of(9);
  next.claims = make_machine(1).claims;
  CHECK_FALSE(joined(w.join_by_tpm(next)));
  // The oldest are over by themselves.
  w.time.advance(seconds{86'400});
  w.places.taken.clear();
  w.deferred(next);
}

TEST_CASE("tpm: a known EK needs no approval where one is asked for others") {
  tpm_world w;
  w.enroll();
  auto m = w.machine_of(1);
  w.approve(w.deferred(m));
  const auto id = w.join_well(m);
  m.renew_key();
  CHECK(w.join_well(m) == id);
}

TEST_CASE("tpm: a deleted node's EK asks like a stranger's") {
  tpm_world w;
  w.enroll();
  auto m = w.machine_of(1);
  w.approve(w.deferred(m));
  const auto id = w.join_well(m);
  w.retire(id);
  m.renew_key();
  w.approve(w.deferred(m));
  CHECK(w.join_well(m) != id);
}

TEST_CASE("tpm: a fault while it is consumed leaves the approval") {
  tpm_world w;
  w.enroll();
  const auto m = w.machine_of(1);
  const auto id = w.deferred(m);
  w.approve(id);
  arm(fault_point::join_before_append, fault_action::error);
  CHECK(w.join_by_tpm(m).answer.code == errc::unavailable);
  disarm_all();
  CHECK(jr::status_at(w.request_state(id), w.time.now()) ==
        jr::status::approved);
  CHECK(joined(w.join_by_tpm(m)));
}

}  // namespace
}  // namespace bc::test
