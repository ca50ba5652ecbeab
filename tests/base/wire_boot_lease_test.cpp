// spec: ATTESTATION section 4 (the boot lease); DESIGN section 7 (messages)
#include "base/wire_boot_lease.hpp"

#include "tests/base/wire_checks.hpp"
#include "tests/base/wire_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace wire_samples;

TEST_CASE("wire: a boot lease request round-trips") {
  const auto sent = boot_lease_request();
  auto got = wire::decode_boot_lease_request(wire::encode(sent));
  REQUIRE(got);
  CHECK(got.value().node_id == sent.node_id);
  CHECK(got.value().site_id == sent.site_id);
  CHECK(got.value().release);
  auto plain = sent;
  plain.release = false;
  CHECK(wire::encode(plain).find("release") == std::string::npos);
  CHECK_FALSE(
      wire::decode_boot_lease_request(wire::encode(plain)).value().release);
  CHECK(wire::decode_boot_lease_request(
      swapped(wire::encode(sent), "\"release\"", "\"new\":[],\"release\"")));
}

TEST_CASE(
    "wire: a boot lease request that is not well formed names its "
    "field") {
  const auto good = wire::encode(boot_lease_request());
  auto bad = [&](const std::string& body, const std::string& path) {
    INFO(body.substr(0, 200));
    check_bad(wire::decode_boot_lease_request(body), path);
  };
  bad("", "");
  bad("[]", "");
  bad("{}", "/protocol");
  bad(swapped(good, "\"protocol\":1", "\"protocol\":2"), "/protocol");
  bad(swapped(good, "\"nodeId\"", "\"node\""), "/nodeId");
  bad(swapped(good, "node_01k5w000000000000000000000", ""), "/nodeId");
  bad(swapped(good, "node_01k5w", std::string(65, 'a')), "/nodeId");
  bad(swapped(good, "site_01k5w000000000000000000000", ""), "/siteId");
  bad(swapped(good, "\"release\":true", "\"release\":1"), "/release");
  bad(good + std::string(wire::max_body, ' '), "");
}

TEST_CASE(
    "wire: a boot lease round-trips, and one held by none is not well "
    "formed") {
  const auto sent = boot_lease_body();
  auto got = wire::decode_boot_lease_body(wire::encode(sent));
  REQUIRE(got);
  CHECK(got.value().held);
  CHECK(got.value().epoch == sent.epoch);
  CHECK(got.value().expires_ms == sent.expires_ms);
  CHECK(got.value().holder == sent.holder);
  const auto free = wire::encode(wire::boot_lease_body{});
  REQUIRE(wire::decode_boot_lease_body(free));
  CHECK(free == R"({"held":false,"epoch":0,"expiresAt":0})");
  const auto good = wire::encode(sent);
  check_bad(wire::decode_boot_lease_body("{}"), "/held");
  check_bad(wire::decode_boot_lease_body(
                swapped(good, "\"epoch\":7", "\"epoch\":-7")),
            "/epoch");
  check_bad(wire::decode_boot_lease_body(
                swapped(good, "\"expiresAt\":", "\"expiresAt\":-")),
            "/expiresAt");
  check_bad(
      wire::decode_boot_lease_body(swapped(good, "\"epoch\":7", "\"epoch\":0")),
      "/holder");
  check_bad(
      wire::decode_boot_lease_body(swapped(good, "\"holder\"", "\"who\"")),
      "/holder");
}
