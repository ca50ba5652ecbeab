// spec: DESIGN sections 3, 7 and 8, joining#renewal; CASES 82, 101, 105, 176.
// As hostile_gateway_test.cpp: a renewal, and whose check refuses what a
// gateway makes of it.
#include "hostile_deployment.hpp"

using namespace bc;
using namespace bc::gateway::testing;

namespace {

using end = daemon::renewal_attempt::end;

/// A deployment whose machine joined, and the gateway's own way to the service.
struct renewing : deployment {
  daemon::node_identity me = joined();
  std::unique_ptr<gateway::relay_client> relay =
      relay_world::connect(internal.options({api->port()}));

  renewing() { given.clear(); }

  /// By the machine's certificate, which the gateway has seen; that the machine
  /// was there, the service has by the gateway's word alone.
  wire::join_answer ask_as(const daemon::node_identity& who,
                           const wire::renew_request& request) {
    w.reports.clear();
    auto reply = gateway::testing::ask(
        *relay, {wire::encode(request), "req-1",
                 std::string{as_text(who.who.certificate_chain.front())},
                 actors::daemon_request::renew});
    return wire::decode_join_answer(reply.status, reply.body).value();
  }
  void check_refused(const wire::join_answer& answer, std::uint64_t head_was,
                     events::refusal_reason reason) const {
    CHECK(answer.code == errc::access_denied);
    REQUIRE(w.reports.size() == 1);
    CHECK(events::text_of(w.reports[0].reason) == events::text_of(reason));
    CHECK(w.head() == head_was);
  }
  void check_still_good() {
    on_renewal = nullptr;
    on_answer = nullptr;
    auto got = renew(me);
    INFO(got.why);
    REQUIRE(got.what == end::renewed);
    CHECK(got.renewed->who.node_id == me.who.node_id);
  }
};

}  // namespace

TEST_CASE(
    "hostile_gateway: a renewal's swapped CSR is refused by the service (its "
    "proof is for another) and by the daemon") {
  renewing d;
  auto mallory = pki::private_key::generate();
  const auto head = d.w.head();
  d.w.reports.clear();
  d.on_renewal = [&](auto& r) { r.csr = pki::build_csr(mallory); };
  auto got = d.renew(d.me);
  REQUIRE(d.given.size() == 1);
  d.check_refused(d.given[0], head, events::refusal_reason::renew_proof);
  // The signed time is bound to the CSR the service saw.
  CHECK(got.what == end::untrusted);
  CHECK_THAT(got.why, Catch::Contains("signature"));
  d.check_still_good();
}

TEST_CASE(
    "hostile_gateway: a renewal that the gateway asks again gives nobody "
    "another certificate (case 101)") {
  renewing d;
  auto first = d.renew(d.me);
  REQUIRE(first.what == end::renewed);
  const auto request = d.renewals.at(0);
  auto head = d.w.head();
  // The stored answer, for a key that the gateway has not.
  auto again = d.ask_as(d.me, request);
  CHECK(again.what == wire::join_answer::kind::renewed);
  CHECK(again.body == d.given.at(0).body);
  CHECK(d.w.head() == head);
  auto mine = pki::private_key::generate();
  auto forged = request;
  forged.csr = pki::build_csr(mine);
  d.check_refused(d.ask_as(d.me, forged), head,
                  events::refusal_reason::renew_proof);
  // By a proof of its own, for a certificate whose key it has not.
  test::sign(forged, mine);
  d.check_refused(d.ask_as(d.me, forged), head,
                  events::refusal_reason::renew_proof);
  // Once the machine went on, its old request is over.
  auto second = d.renew(*first.renewed);
  REQUIRE(second.what == end::renewed);
  head = d.w.head();
  d.check_refused(d.ask_as(d.me, request), head,
                  events::refusal_reason::renew_replayed);
  d.me = std::move(*second.renewed);
  d.check_still_good();
}

TEST_CASE(
    "hostile_gateway: a renewal's altered answer is refused by the daemon's "
    "check, and the certificate it has stays good (cases 105, 176)") {
  renewing d;
  auto mallory = pki::private_key::generate();
  REQUIRE(d.renew(d.me).what == end::renewed);
  const auto older = d.given.at(0);

  struct alteration {
    std::string what;
    std::string check;
    std::function<void(wire::join_answer&)> change;
  };
  std::vector<alteration> all{
      {"a bit of the body", "signature", [](auto& a) { a.body[20] ^= 1; }},
      {"a bit of the signature", "signature",
       [](auto& a) { a.signature[5] ^= 1; }},
      {"the gateway's key in place of the pinned one", "signature",
       [&](auto& a) {
         a.signing_key = mallory.pub().spki();
         sign_anew(a, mallory, pki::purpose::renew_response);
       }},
      {"another time", "signature", [](auto& a) { a.time->time_ms += 1; }},
      {"an older answer of the same node", "signature",
       [&](auto& a) { a = older; }},
      {"an older body under this time", "csr_sha256",
       [&](auto& a) {
         a.body = older.body;
         a.signature = older.signature;
       }},
      {"a refusal that nobody signed", "signature",
       [](auto& a) {
         a = {};
         a.code = errc::access_denied;
         a.message = "Renew refused";
       }},
  };
  for (const auto& one : all) {
    CAPTURE(one.what);
    d.on_answer = one.change;
    auto got = d.renew(d.me);
    CHECK(got.what == end::untrusted);
    CHECK_THAT(got.why, Catch::Contains(one.check));
    CHECK_FALSE(got.renewed);
  }
  d.check_still_good();
}
