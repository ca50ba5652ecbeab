// spec: DESIGN section 7 (messages, bounds), joining#renewal
#include "base/encoding.hpp"
#include "tests/base/wire_checks.hpp"
#include "tests/base/wire_samples.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace bc;
using namespace wire_samples;

namespace {

void check_bad(const std::string& body, const std::string& path) {
  INFO(body.substr(0, 300));
  wire_samples::check_bad(wire::decode_renew_request(body), path);
}

bool fits(const wire::renew_request& r) {
  return wire::decode_renew_request(wire::encode(r)).has_value();
}

}  // namespace

TEST_CASE("wire: a renew request round-trips") {
  const auto sent = renewal();
  auto got = wire::decode_renew_request(wire::encode(sent));
  REQUIRE(got);
  CHECK(got.value().node_id == sent.node_id);
  CHECK(got.value().csr == sent.csr);
  CHECK(got.value().certificate_chain == sent.certificate_chain);
  CHECK(got.value().client_time_ms == sent.client_time_ms);
  CHECK(got.value().pop_signature == sent.pop_signature);
  CHECK(wire::decode_renew_request(swapped(
      wire::encode(sent), "\"csr\":", "\"keyAttestation\":{},\"csr\":")));
}

TEST_CASE("wire: a renew request that is not well formed names its field") {
  const auto good = wire::encode(renewal());
  check_bad("", "");
  check_bad("[]", "");
  check_bad("{}", "/protocol");
  check_bad(swapped(good, "\"protocol\":1", "\"protocol\":2"), "/protocol");
  check_bad(swapped(good, "\"nodeId\":\"", "\"node\":\""), "/nodeId");
  check_bad(swapped(good, "MDAwMDAw", "MDAwMDA"), "/csr");
  check_bad(swapped(good, "[\"AQEBAQ==\",\"AgICAg==\"]", "[]"),
            "/certificateChain");
  check_bad(swapped(good, "AQEBAQ==", "AQEBAQ="), "/certificateChain");
  check_bad(swapped(good, "AQEBAQ==", ""), "/certificateChain");
  check_bad(swapped(good, "\"popSig\":\"CAgI", "\"popSig\":\""), "/popSig");
  check_bad(std::string(wire::max_body, ' ') + good, "");
}

TEST_CASE("wire: the client's time is an integer (case 104)") {
  const auto good = wire::encode(renewal());
  for (const auto* time : {"\"2026-11-29T12:00:00Z\"", "9223372036854775808",
                           "1.5", "1e3", "null"})
    check_bad(swapped(good, "1764000000000", time), "/clientTime");
  check_bad(swapped(good, "\"clientTime\":1764000000000,", ""), "/clientTime");
  // What is any number is the join service's to judge.
  for (std::int64_t time :
       {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    auto r = renewal();
    r.client_time_ms = time;
    CHECK(fits(r));
  }
}

TEST_CASE("wire: every bound of a renew request, from both sides") {
  auto r = renewal();
  r.node_id = std::string(64, 'n');
  CHECK(fits(r));
  r.node_id += 'n';
  CHECK_FALSE(fits(r));

  r = renewal();
  r.csr = filled(4096, 1);
  CHECK(fits(r));
  r.csr.push_back(1);
  CHECK_FALSE(fits(r));

  r = renewal();
  r.certificate_chain.assign(4, filled(4096, 1));
  CHECK(fits(r));
  r.certificate_chain.back().push_back(1);
  CHECK_FALSE(fits(r));
  r.certificate_chain.assign(5, filled(1, 1));
  CHECK_FALSE(fits(r));

  for (std::size_t size : {0U, 63U, 65U}) {
    r = renewal();
    r.pop_signature = filled(size, 1);
    CHECK_FALSE(fits(r));
  }
}

TEST_CASE("wire: a renewed answer round-trips, and goes with 200 alone") {
  const auto sent = renewed();
  CHECK(wire::http_status(sent) == 200);
  auto got = wire::decode_join_answer(200, wire::encode(sent));
  REQUIRE(got);
  CHECK(got.value().what == wire::join_answer::kind::renewed);
  CHECK(got.value().body == sent.body);
  CHECK_FALSE(wire::decode_join_answer(202, wire::encode(sent)));
}
