// spec: joining#the-join-flow step 5; CASES 176
#include "daemon/answer_check.hpp"

#include "tests/daemon/fake_gateway.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using daemon::answer_check;
using daemon::check_joined;
using kind = wire::join_answer::kind;

namespace {

struct world {
  fake_gateway gateway;
  pki::private_key key = pki::private_key::generate();
  wire::join_request request;
  daemon::expected_answer expected{
      {}, {}, key.pub(), std::string{fake_gateway::site}};

  world() {
    request.csr = pki::build_csr(key);
    expected.csr_sha256 = pki::sha256(request.csr);
    expected.signing_key_pins = {gateway.keys.join_signing.key.pub().pin()};
  }
  answer_check judge(const wire::joined_body& body) {
    return check_joined(
               gateway.signed_answer(kind::joined, wire::encode(body), request),
               expected)
        .failed;
  }
};

}  // namespace

TEST_CASE("answer: a good one passes every check (case 176)") {
  world w;
  auto checked = check_joined(w.gateway.joined(w.request), w.expected);
  CHECK(checked.failed == answer_check::none);
  CHECK(checked.body.node_id == fake_gateway::node);
  CHECK(checked.not_after - w.gateway.start <= pki::max_node_lifetime);
}

// Each row mends what the row before got wrong and breaks the next check, so
// the order of the checks is pinned as well.
TEST_CASE("answer: the checks one by one, in order (case 176)") {
  world w;
  auto other = pki::private_key::generate();
  wire::join_request other_request = w.request;
  other_request.csr = pki::build_csr(other);
  auto wrong_role = pki::certificate_role::site;

  // Wrong in everything: another key's leaf, another CSR, domain and role.
  auto body = w.gateway.joined_body(other_request, wrong_role);
  body.trust_domain = "other.example.com";

  SECTION("signature: by another key") {
    auto a =
        w.gateway.signed_answer(kind::joined, wire::encode(body), w.request);
    a.signing_key = other.pub().spki();
    CHECK(check_joined(a, w.expected).failed == answer_check::signature);
    auto sig =
        pki::sign(other, pki::purpose::join_response, {as_bytes(a.body)});
    a.signature = {sig.begin(), sig.end()};
    CHECK(check_joined(a, w.expected).failed == answer_check::signature);
  }
  SECTION("signature: for another purpose, over other bytes") {
    auto a =
        w.gateway.signed_answer(kind::joined, wire::encode(body), w.request);
    auto sig = pki::sign(w.gateway.keys.join_signing.key,
                         pki::purpose::renew_response, {as_bytes(a.body)});
    auto good = a.signature;
    a.signature = {sig.begin(), sig.end()};
    CHECK(check_joined(a, w.expected).failed == answer_check::signature);
    a.signature = good;
    a.body += " ";  // the same JSON, re-encoded
    CHECK(check_joined(a, w.expected).failed == answer_check::signature);
    a.signing_key.clear();
    CHECK(check_joined(a, w.expected).failed == answer_check::signature);
  }
  SECTION("form: signed, but not a body") {
    for (const char* text : {"", "[]", "{}", "{\"nodeId\":1}"})
      CHECK(check_joined(w.gateway.signed_answer(kind::joined, text, w.request),
                         w.expected)
                .failed == answer_check::form);
    auto empty = body;
    empty.certificate_chain.clear();
    CHECK(w.judge(empty) == answer_check::form);
    auto no_trust = body;
    no_trust.command_signing_keys = {{1, 2, 3}};
    CHECK(w.judge(no_trust) == answer_check::form);
  }
  SECTION("csr_sha256, key, SPIFFE SAN, role") {
    CHECK(w.judge(body) == answer_check::csr_sha256);
    body.csr_sha256 = {w.expected.csr_sha256.begin(),
                       w.expected.csr_sha256.end()};
    CHECK(w.judge(body) == answer_check::key);
    auto own = w.gateway.joined_body(w.request, wrong_role);
    own.trust_domain = "other.example.com";
    CHECK(w.judge(own) == answer_check::spiffe);
    own.trust_domain = fake_gateway::domain;
    CHECK(w.judge(own) == answer_check::role);
    own.role = "node";  // the body alone does not help
    CHECK(w.judge(own) == answer_check::role);
    auto good = w.gateway.joined_body(w.request);
    good.role = "site";
    CHECK(w.judge(good) == answer_check::role);
    good.role = "node";
    CHECK(w.judge(good) == answer_check::none);
  }
  SECTION("SPIFFE SAN: another node, another site") {
    auto good = w.gateway.joined_body(w.request);
    good.node_id = "node_01k5w000000000000000000001";
    CHECK(w.judge(good) == answer_check::spiffe);
    good.node_id = "node_x";
    CHECK(w.judge(good) == answer_check::spiffe);
    good = w.gateway.joined_body(w.request);
    w.expected.site = "site_01k5w000000000000000000001";
    CHECK(w.judge(good) == answer_check::spiffe);
    good.site_id = w.expected.site;
    CHECK(w.judge(good) == answer_check::spiffe);
  }
}

// spec: joining#creating-a-token: the token decides who is trusted, never the
// machine's claims.
TEST_CASE("answer: node and node-tenant are for the server to choose") {
  using pki::certificate_role;
  world w;
  for (auto asked : {certificate_role::node, certificate_role::node_tenant})
    for (auto issued :
         {certificate_role::node, certificate_role::node_tenant}) {
      w.expected.role = asked;
      auto body = w.gateway.joined_body(w.request, issued);
      CHECK(w.judge(body) == answer_check::none);
      // The body must say what the leaf says.
      body.role = issued == certificate_role::node ? "node-tenant" : "node";
      CHECK(w.judge(body) == answer_check::role);
    }
  for (auto asked : {certificate_role::site, certificate_role::ramdisk}) {
    w.expected.role = asked;
    CHECK(w.judge(w.gateway.joined_body(w.request, asked)) ==
          answer_check::none);
    for (auto issued : {certificate_role::node, certificate_role::node_tenant})
      CHECK(w.judge(w.gateway.joined_body(w.request, issued)) ==
            answer_check::role);
  }
}

TEST_CASE("answer: a machine that is to be one node is no other") {
  world w;
  const auto body = w.gateway.joined_body(w.request);
  w.expected.node_id = fake_gateway::node;
  CHECK(w.judge(body) == answer_check::none);
  w.expected.node_id = "node_01k5w000000000000000000001";
  CHECK(w.judge(body) == answer_check::spiffe);
}

TEST_CASE("answer: the signed time is bound to the key and to our CSR") {
  world w;
  auto a = w.gateway.failed(errc::access_denied, w.request);
  REQUIRE(daemon::check_signed_time(a, w.expected));
  CHECK(daemon::check_signed_time(a, w.expected).value() == w.gateway.start);
  auto late = a;
  ++late.time->time_ms;
  CHECK_FALSE(daemon::check_signed_time(late, w.expected));
  auto unsigned_answer = a;
  unsigned_answer.time.reset();
  CHECK_FALSE(daemon::check_signed_time(unsigned_answer, w.expected));
  auto unpinned = a;
  unpinned.signing_key = w.key.pub().spki();
  CHECK_FALSE(daemon::check_signed_time(unpinned, w.expected));
  w.expected.csr_sha256[0] ^= 1;
  CHECK_FALSE(daemon::check_signed_time(a, w.expected));
}

TEST_CASE("answer: a deferral is checked too") {
  world w;
  wire::deferred_body body{
      "jreq_01k5w000000000000000000000",
      30,
      {w.expected.csr_sha256.begin(), w.expected.csr_sha256.end()}};
  auto judge = [&](const std::string& text) {
    return daemon::check_deferred(
               w.gateway.signed_answer(kind::deferred, text, w.request),
               w.expected)
        .failed;
  };
  CHECK(judge(wire::encode(body)) == answer_check::none);
  CHECK(judge("{}") == answer_check::form);
  body.csr_sha256[0] ^= 1;
  CHECK(judge(wire::encode(body)) == answer_check::csr_sha256);
  auto a =
      w.gateway.signed_answer(kind::deferred, wire::encode(body), w.request);
  a.signature[5] ^= 1;
  CHECK(daemon::check_deferred(a, w.expected).failed ==
        answer_check::signature);
}
