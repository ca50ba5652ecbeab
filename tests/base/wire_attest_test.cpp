// spec: ATTESTATION sections 1.1 and 3 (messages, bounds)
#include "tests/base/wire_checks.hpp"
#include "tests/base/wire_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace wire_samples;

namespace {

bool fits(const wire::join_request& r) {
  return wire::decode_join_request(wire::encode(r)).has_value();
}

bool fits(const wire::challenge_request& r) {
  return wire::decode_challenge_request(wire::encode(r)).has_value();
}

}  // namespace

TEST_CASE("wire: a request for a challenge round-trips") {
  const auto sent = challenge_request();
  auto got = wire::decode_challenge_request(wire::encode(sent));
  REQUIRE(got);
  CHECK(got.value().attestor == sent.attestor);
  CHECK(got.value().csr_sha256 == sent.csr_sha256);
  CHECK(got.value().leaf == sent.leaf);
  // Evidence of another attestor is that one's to read.
  auto none = sent;
  none.leaf.clear();
  got = wire::decode_challenge_request(swapped(
      wire::encode(none), "\"evidence\":{", "\"evidence\":{\"quote\":{}"));
  REQUIRE(got);
  CHECK(got.value().leaf.empty());
}

TEST_CASE("wire: a request for a challenge names the field that is wrong") {
  const auto good = wire::encode(challenge_request());
  auto decode = wire::decode_challenge_request;
  check_bad(decode(""), "");
  check_bad(decode("[]"), "");
  check_bad(decode("{}"), "/protocol");
  check_bad(decode(swapped(good, "\"protocol\":1", "\"protocol\":2")),
            "/protocol");
  check_bad(decode(swapped(good, "\"attestor\"", "\"attester\"")), "/attestor");
  check_bad(decode(swapped(good, "\"csrSha256\":\"qqqq", "\"csrSha256\":\"")),
            "/csrSha256");
  check_bad(decode(swapped(good, "\"evidence\"", "\"proofs\"")), "/evidence");
  check_bad(decode(swapped(good, "\"leaf\"", "\"twig\"")),
            "/evidence/x509pop/leaf");
  check_bad(decode(swapped(good, "AQEBAQEB", "AQEBAQE")),
            "/evidence/x509pop/leaf");
  check_bad(decode(std::string(wire::max_body, ' ') + good), "");

  auto r = challenge_request();
  r.attestor = std::string(64, 'a');
  CHECK(fits(r));
  r.attestor += 'a';
  CHECK_FALSE(fits(r));
  r = challenge_request();
  r.leaf = filled(4096, 1);
  CHECK(fits(r));
  r.leaf.push_back(1);
  CHECK_FALSE(fits(r));
}

TEST_CASE("wire: a challenge round-trips, and its sizes are fixed") {
  const auto sent = challenge_body();
  auto got = wire::decode_challenge_body(wire::encode(sent));
  REQUIRE(got);
  CHECK(got.value().kid == sent.kid);
  CHECK(got.value().nonce == sent.nonce);
  CHECK(got.value().expires_ms == sent.expires_ms);
  CHECK(got.value().payload == sent.payload);
  CHECK(got.value().csr_sha256 == sent.csr_sha256);
  auto bad = [&](auto change, const std::string& path) {
    auto body = challenge_body();
    change(body);
    check_bad(wire::decode_challenge_body(wire::encode(body)), path);
  };
  bad([](auto& b) { b.kid = std::string(65, 'k'); }, "/kid");
  bad([](auto& b) { b.nonce.pop_back(); }, "/nonce");
  bad([](auto& b) { b.nonce.push_back(1); }, "/nonce");
  bad([](auto& b) { b.payload.clear(); }, "/payload");
  bad([](auto& b) { b.payload = filled(4097, 1); }, "/payload");
  bad([](auto& b) { b.csr_sha256.pop_back(); }, "/csrSha256");
}

TEST_CASE("wire: an answer with a challenge goes with 200 alone") {
  const auto sent = challenge();
  CHECK(wire::http_status(sent) == 200);
  auto got = wire::decode_join_answer(200, wire::encode(sent));
  REQUIRE(got);
  CHECK(got.value().what == wire::join_answer::kind::challenge);
  CHECK(got.value().body == sent.body);
  CHECK_FALSE(wire::decode_join_answer(202, wire::encode(sent)));
}

TEST_CASE("wire: a join by an expired certificate, and every bound of it") {
  const auto sent = rejoin_request();
  auto got = wire::decode_join_request(wire::encode(sent));
  REQUIRE(got);
  REQUIRE(got.value().x509pop);
  const auto& e = *got.value().x509pop;
  CHECK(e.chain == sent.x509pop->chain);
  CHECK(e.kid == sent.x509pop->kid);
  CHECK(e.nonce == sent.x509pop->nonce);
  CHECK(e.expires_ms == sent.x509pop->expires_ms);
  CHECK(e.signature == sent.x509pop->signature);
  CHECK_FALSE(got.value().sealed_token);
  CHECK_FALSE(
      wire::decode_join_request(wire::encode(request())).value().x509pop);

  auto bad = [](auto change, const std::string& field) {
    auto r = rejoin_request();
    change(*r.x509pop);
    check_bad(wire::decode_join_request(wire::encode(r)),
              "/evidence/x509pop/" + field);
  };
  bad([](auto& x) { x.chain.clear(); }, "chain");
  bad([](auto& x) { x.chain.assign(6, filled(1, 1)); }, "chain");
  bad([](auto& x) { x.chain.front() = filled(4097, 1); }, "chain");
  bad([](auto& x) { x.chain.front().clear(); }, "chain");
  bad([](auto& x) { x.kid = std::string(65, 'k'); }, "kid");
  bad([](auto& x) { x.nonce.pop_back(); }, "nonce");
  bad([](auto& x) { x.signature.push_back(1); }, "signature");
  auto r = rejoin_request();
  r.x509pop->chain.assign(5, filled(4096, 1));
  CHECK(fits(r));
  check_bad(wire::decode_join_request(swapped(wire::encode(rejoin_request()),
                                              "\"exp\":1764000120000",
                                              "\"exp\":\"soon\"")),
            "/evidence/x509pop/exp");
}
