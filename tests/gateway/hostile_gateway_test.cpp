// spec: DESIGN section 7, joining#join-flow; CASES 14, 82, 176. The daemon's
// own code, a real gateway and relay, the real join service, and a gateway that
// does its worst in between: whose check refuses it.
#include "hostile_deployment.hpp"

using namespace bc;
using namespace bc::gateway::testing;
using daemon::join_exit;

TEST_CASE("hostile_gateway: an honest one joins a machine") {
  deployment d;
  auto token = d.w.mint_token();
  auto outcome = d.join(token);
  INFO(outcome.message);
  CHECK(outcome.exit_code == join_exit::joined);
  CHECK(d.w.uses_left(token) == 0);
  CHECK(d.has_identity());
}

TEST_CASE(
    "hostile_gateway: a swapped CSR is refused by the service (its seal "
    "is for another) and by the daemon (case 82)") {
  deployment d;
  auto token = d.w.mint_token();
  auto mallory = pki::private_key::generate();
  d.on_request = [&](auto& r) { r.csr = pki::build_csr(mallory); };
  auto head = d.w.head();
  auto outcome = d.join(token);
  REQUIRE(d.given.size() == 1);
  CHECK(d.given[0].code == errc::access_denied);
  REQUIRE(d.w.reports.size() == 1);
  CHECK(events::text_of(d.w.reports[0].reason) ==
        events::text_of(events::refusal_reason::join_token));
  CHECK(d.w.head() == head);
  CHECK(d.w.uses_left(token) == 1);
  // The signed time is bound to the CSR the service saw.
  CHECK(outcome.exit_code == join_exit::untrusted);
  CHECK_THAT(outcome.message, Catch::Contains("signature"));
  CHECK_FALSE(d.has_identity());
  // The machine is none the worse for it.
  d.on_request = nullptr;
  CHECK(d.join(token).exit_code == join_exit::joined);
}

TEST_CASE(
    "hostile_gateway: a blob replayed for another CSR is refused, for "
    "the same one spends nothing (cases 14, 82)") {
  deployment d;
  auto token = d.w.mint_token([](auto& t) { t.max_uses = 5; });
  REQUIRE(d.join(token).exit_code == join_exit::joined);
  REQUIRE(d.w.uses_left(token) == 4);
  auto head = d.w.head();
  auto request = d.seen.at(0);
  auto b = test::make_machine(7);
  auto forged = request;
  forged.csr = b.csr;
  forged.hardware = b.claims;
  CHECK(d.ask(forged).code == errc::access_denied);
  CHECK(d.w.head() == head);
  // The same again: the same certificate, for a key the gateway has not.
  auto again = d.ask(request);
  CHECK(again.what == wire::join_answer::kind::joined);
  CHECK(again.body == d.given.at(0).body);
  CHECK(d.w.head() == head);
  CHECK(d.w.uses_left(token) == 4);
}

TEST_CASE(
    "hostile_gateway: an altered answer is refused by the daemon's check, "
    "and costs the machine nothing (cases 14, 176)") {
  deployment d;
  auto token = d.w.mint_token([](auto& t) { t.max_uses = 5; });
  auto mallory = pki::private_key::generate();
  // Another machine's answer, which the gateway has seen.
  auto other = test::make_machine(8);
  auto theirs = d.ask(d.w.request(other, token.text()));
  REQUIRE(theirs.what == wire::join_answer::kind::joined);

  struct alteration {
    std::string what;
    std::string check;
    std::function<void(wire::join_answer&)> change;
  };
  std::vector<alteration> all{
      {"a bit of the body", "signature", [](auto& a) { a.body[20] ^= 1; }},
      {"a bit of the signature", "signature",
       [](auto& a) { a.signature[5] ^= 1; }},
      {"another certificate, signed by the gateway", "signature",
       [&](auto& a) {
         a.body = theirs.body;
         sign_anew(a, mallory);
       }},
      {"the gateway's key in place of the pinned one", "signature",
       [&](auto& a) {
         a.signing_key = mallory.pub().spki();
         sign_anew(a, mallory);
       }},
      {"another time", "signature", [](auto& a) { a.time->time_ms += 1; }},
      {"no time", "signature", [](auto& a) { a.time.reset(); }},
      {"another machine's whole answer", "signature",
       [&](auto& a) { a = theirs; }},
      {"another machine's body under our time", "csr_sha256",
       [&](auto& a) {
         a.body = theirs.body;
         a.signature = theirs.signature;
       }},
      {"a refusal that nobody signed", "signature",
       [](auto& a) {
         a = {};
         a.code = errc::access_denied;
         a.message = "Join refused";
       }},
  };
  for (const auto& one : all) {
    CAPTURE(one.what);
    d.on_answer = one.change;
    auto outcome = d.join(token);
    CHECK(outcome.exit_code == join_exit::untrusted);
    CHECK_THAT(outcome.message, Catch::Contains(one.check));
    CHECK_FALSE(d.has_identity());
  }
  d.on_answer = nullptr;
  CHECK(d.join(token).exit_code == join_exit::joined);
  // Theirs and ours: every retry was given the stored answer.
  CHECK(d.w.uses_left(token) == 3);
  CHECK(d.w.count("node.joined") == 2);
}
