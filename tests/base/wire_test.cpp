// spec: DESIGN section 7 (messages, bounds, unknown fields ignored)
#include "base/encoding.hpp"
#include "base/json.hpp"
#include "tests/base/wire_checks.hpp"
#include "tests/base/wire_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace wire_samples;

namespace {

void check_bad(const std::string& body, const std::string& path) {
  INFO(body.substr(0, 300));
  wire_samples::check_bad(wire::decode_join_request(body), path);
}

}  // namespace

TEST_CASE("wire: a join request round-trips") {
  auto sent = request();
  auto got = wire::decode_join_request(wire::encode(sent));
  REQUIRE(got);
  const auto& r = got.value();
  CHECK(r.attestor.empty());
  CHECK(r.role == sent.role);
  CHECK(r.site_id == sent.site_id);
  CHECK(r.csr == sent.csr);
  CHECK(r.sealed_token == sent.sealed_token);
  CHECK(r.hardware.product_uuid == sent.hardware.product_uuid);
  CHECK(r.hardware.product_serial == sent.hardware.product_serial);
  CHECK(r.hardware.board_serial == sent.hardware.board_serial);
  CHECK(r.hardware.chassis_serial == sent.hardware.chassis_serial);
  CHECK(r.hardware.macs == sent.hardware.macs);
  CHECK(r.hardware.gpu_uuids == sent.hardware.gpu_uuids);
  CHECK(r.hardware.hostname == sent.hardware.hostname);

  wire::join_request bare;
  bare.attestor = "tpm";
  bare.role = "ramdisk";
  bare.node_id = "node_01k5w000000000000000000000";
  bare.csr = {1};
  auto back = wire::decode_join_request(wire::encode(bare));
  REQUIRE(back);
  CHECK(back.value().attestor == "tpm");
  CHECK(back.value().node_id == bare.node_id);
  CHECK(r.node_id.empty());
  CHECK_FALSE(back.value().sealed_token);
  CHECK(back.value().hardware.macs.empty());
}

TEST_CASE("wire: fields of a newer daemon are ignored") {
  auto body = swapped(wire::encode(request()), "\"claims\":{",
                      "\"later\":[1],\"claims\":{\"later\":{},");
  CHECK(wire::decode_join_request(body));
}

TEST_CASE("wire: a request that is not well formed names its field") {
  auto good = wire::encode(request());
  check_bad("", "");
  check_bad("[]", "");
  check_bad("{\"protocol\":1,\"protocol\":1}", "");
  // Half a surrogate pair (case 138).
  check_bad(R"({"protocol":1,"claims":{"hostname":"\udc00"}})", "");
  check_bad("{}", "/protocol");
  check_bad(swapped(good, "\"protocol\":1", "\"protocol\":2"), "/protocol");
  check_bad(swapped(good, "\"protocol\":1", "\"protocol\":1.0"), "/protocol");
  check_bad(swapped(good, "\"role\":\"node\"", "\"role\":\"root\""), "/role");
  check_bad(swapped(good, "\"role\":\"node\"", "\"role\":\"\""), "/role");
  check_bad(swapped(good, "\"role\":\"node\",", ""), "/role");
  check_bad(swapped(good, "\"csr\":\"MDAwMDAw\"", "\"csr\":\"MDAwMDA\""),
            "/csr");
  check_bad(swapped(good, "\"csr\":\"MDAwMDAw\"", "\"csr\":\"\""), "/csr");
  check_bad(swapped(good, "\"claims\":{", "\"claims\":[],\"other\":{"),
            "/claims");
  check_bad(swapped(good, "\"USE2200001\"", "7"), "/claims/productSerial");
  check_bad(swapped(good, "\"3c:ec:ef:00:00:02\"", "null"), "/claims/macs/1");
  check_bad(swapped(good, "\"evidence\":{", "\"evidence\":1,\"other\":{"),
            "/evidence");
  check_bad(swapped(good, "\"join-token\":{", "\"join-token\":1,\"o\":{"),
            "/evidence/join-token");
  check_bad(swapped(good, "\"sealed\":", "\"seal\":"),
            "/evidence/join-token/sealed");
}

TEST_CASE("wire: every bound, from both sides") {
  auto encoded = [](auto change) {
    auto r = request();
    change(r);
    return wire::encode(r);
  };
  auto check_bound = [&](const std::string& at, const std::string& over,
                         const std::string& path) {
    CHECK(wire::decode_join_request(at));
    check_bad(over, path);
  };
  auto text = [](std::size_t n) { return std::string(n, 'a'); };
  check_bound(encoded([&](auto& r) { r.hardware.product_serial = text(256); }),
              encoded([&](auto& r) { r.hardware.product_serial = text(257); }),
              "/claims/productSerial");
  check_bound(encoded([&](auto& r) { r.hardware.hostname = text(256); }),
              encoded([&](auto& r) { r.hardware.hostname = text(257); }),
              "/claims/hostname");
  check_bound(encoded([&](auto& r) { r.site_id = text(256); }),
              encoded([&](auto& r) { r.site_id = text(257); }), "/siteId");
  check_bound(encoded([&](auto& r) { r.attestor = text(64); }),
              encoded([&](auto& r) { r.attestor = text(65); }), "/attestor");
  check_bound(encoded([&](auto& r) { r.hardware.macs.assign(64, "m"); }),
              encoded([&](auto& r) { r.hardware.macs.assign(65, "m"); }),
              "/claims/macs");
  check_bound(encoded([&](auto& r) { r.hardware.gpu_uuids.assign(64, "g"); }),
              encoded([&](auto& r) { r.hardware.gpu_uuids.assign(65, "g"); }),
              "/claims/gpuUuids");
  check_bound(encoded([&](auto& r) { r.hardware.macs = {text(256)}; }),
              encoded([&](auto& r) { r.hardware.macs = {text(257)}; }),
              "/claims/macs");
  check_bound(encoded([&](auto& r) { r.csr = filled(4096, 1); }),
              encoded([&](auto& r) { r.csr = filled(4097, 1); }), "/csr");
  check_bound(encoded([&](auto& r) { r.node_id = text(64); }),
              encoded([&](auto& r) { r.node_id = text(65); }), "/nodeId");
  check_bound(encoded([&](auto& r) { r.sealed_token = text(4096); }),
              encoded([&](auto& r) { r.sealed_token = text(4097); }),
              "/evidence/join-token/sealed");
  auto good = wire::encode(request());
  good.append(wire::max_body - good.size(), ' ');
  CHECK(wire::decode_join_request(good));
  check_bad(good + " ", "");
}

TEST_CASE("wire: signed bodies round-trip") {
  auto sent = joined_body();
  auto got = wire::decode_joined_body(wire::encode(sent));
  REQUIRE(got);
  CHECK(got.value().node_id == sent.node_id);
  CHECK(got.value().certificate_chain == sent.certificate_chain);
  CHECK(got.value().command_signing_keys == sent.command_signing_keys);
  CHECK(got.value().csr_sha256 == sent.csr_sha256);
  CHECK(got.value().trust_domain == sent.trust_domain);
  CHECK(got.value().site_id == sent.site_id);
  CHECK(got.value().role == sent.role);
  CHECK(got.value().not_after_ms == sent.not_after_ms);
  CHECK_FALSE(wire::decode_joined_body("{}"));

  auto deferral = wire::decode_deferred_body(wire::encode(deferred_body()));
  REQUIRE(deferral);
  CHECK(deferral.value().request_id == deferred_body().request_id);
  CHECK(deferral.value().retry_after_seconds == 30);
  CHECK(deferral.value().csr_sha256 == deferred_body().csr_sha256);
  CHECK_FALSE(wire::decode_deferred_body("{}"));
}

TEST_CASE("wire: answers round-trip with their status") {
  for (const auto& sent :
       {joined(), deferred(), refused(), malformed(),
        failed(errc::conflict, wire::concurrent_message),
        failed(errc::invalid_config, "x"), failed(errc::unavailable, "x")}) {
    auto got =
        wire::decode_join_answer(wire::http_status(sent), wire::encode(sent));
    REQUIRE(got);
    const auto& a = got.value();
    CHECK(a.what == sent.what);
    CHECK(a.body == sent.body);
    CHECK(a.signature == sent.signature);
    CHECK(a.message == sent.message);
    CHECK(a.path == sent.path);
    if (sent.what == wire::join_answer::kind::failed)
      CHECK(a.code == sent.code);
    REQUIRE(a.time.has_value() == sent.time.has_value());
    CHECK(a.signing_key == sent.signing_key);
    if (a.time) {
      CHECK(a.time->time_ms == sent.time->time_ms);
      CHECK(a.time->signature == sent.time->signature);
    }
  }
}

TEST_CASE("wire: an answer must go with its HTTP status") {
  CHECK_FALSE(wire::decode_join_answer(202, wire::encode(joined())));
  CHECK_FALSE(wire::decode_join_answer(500, wire::encode(joined())));
  CHECK_FALSE(wire::decode_join_answer(200, wire::encode(deferred())));
  CHECK_FALSE(wire::decode_join_answer(200, "{\"status\":\"perhaps\"}"));
  for (const char* bad : {"", "<html>", "[]", "{}", "{\"error\":1}",
                          "{\"error\":{\"code\":\"CONFLICT\"}}"})
    CHECK_FALSE(wire::decode_join_answer(502, bad));
  // Only an error's own status makes it one; a success may not carry it.
  CHECK_FALSE(wire::decode_join_answer(200, wire::encode(refused())));
  // A code of a later version is an error all the same.
  auto later = wire::decode_join_answer(
      418, "{\"error\":{\"code\":\"TEAPOT\",\"message\":\"x\"}}");
  REQUIRE(later);
  CHECK(later.value().code == errc::internal);
}

TEST_CASE("wire: refusals differ in the signed time alone") {
  auto one = refused(), other = refused();
  other.time->time_ms += 100;
  other.time->signature = filled(64, 0x16);
  auto cut = [](const wire::join_answer& a) {
    auto text = wire::encode(a);
    return text.substr(0, text.find("\"serverTime\""));
  };
  CHECK(cut(one) == cut(other));
  CHECK(wire::encode(one).size() == wire::encode(other).size());
}
