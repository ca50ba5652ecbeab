// spec: joining#the-join-key-and-its-fallback

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "gateway/routes.hpp"
#include "pki/jwe.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace bc;
using namespace bc::gateway;

namespace {

pki::private_key fixed_key(std::uint8_t scalar) {
  bytes raw(32, 0);
  raw.back() = scalar;
  auto key = pki::private_key::from_scalar(raw);
  REQUIRE(key);
  return std::move(key).value();
}

std::shared_ptr<const pki::key_bundle> fixed_bundle() {
  auto made = pki::make_bundle("compute.example.com", from_millis(0));
  REQUIRE(made);
  auto bundle = std::make_shared<pki::key_bundle>(std::move(made).value());
  bundle->join_encryption = fixed_key(1);
  bundle->join_signing.key = fixed_key(2);
  bundle->serving_ca.key = fixed_key(3);
  return bundle;
}

std::string golden(const std::string& text) {
  auto path =
      std::string{BC_SOURCE_DIR} + "/tests/golden/gateway/well_known.json";
  if (std::getenv("BC_UPDATE_GOLDEN") != nullptr)
    std::ofstream{path} << text << "\n";
  std::ifstream in{path};
  std::stringstream out;
  out << in.rdbuf();
  auto read = out.str();
  if (read.ends_with('\n'))
    read.pop_back();
  return read;
}

}  // namespace

TEST_CASE("well_known: the whole document is as recorded") {
  well_known w;
  w.version = "0.1.0";
  w.keys = fixed_bundle();
  w.gateway_url = "https://gw.eu.example.com";
  w.gateway_server_name = "gw.eu.example.com";
  auto text = well_known_document(w);
  // The certificate holds a random serial and signature.
  auto certificate = to_base64(w.keys->join_signing.certificate);
  auto at = text.find(certificate);
  REQUIRE(at != std::string::npos);
  text.replace(at, certificate.size(), "MASKED");
  CHECK(text == golden(text));
}

TEST_CASE("well_known: the keys it gives are the ones its pins name") {
  well_known w;
  w.keys = fixed_bundle();
  w.gateway_url = "https://gw.eu.example.com:8443";
  auto doc = json::parse_object(well_known_document(w));
  REQUIRE(doc);
  auto join = json::reader{doc.value()}.object("join");
  REQUIRE(join);
  auto jwk = pki::from_jwk(json::to_text(join.value().raw()["encryptionJwk"]));
  REQUIRE(jwk);
  CHECK(jwk.value().pin() == join.value().text("encryptionKeyPin").value());
  CHECK(join.value().text("signingKeyPin").value() ==
        w.keys->join_signing.key.pub().pin());
  CHECK(join.value().base64("signingCertificate").value() ==
        w.keys->join_signing.certificate);
  auto gateway = json::reader{doc.value()}.object("gateway");
  REQUIRE(gateway);
  CHECK(gateway.value().text("serverName").value() == "gw.eu.example.com");
  CHECK(gateway.value().text("servingCaPin").value() ==
        w.keys->serving_ca.key.pub().pin());
}

TEST_CASE(
    "well_known: without keys there is no join section, without a "
    "gateway no gateway section") {
  well_known w;
  w.version = "0.1.0";
  CHECK(well_known_document(w) ==
        R"({"name":"better-compute","version":"0.1.0",)"
        R"("basePath":"/api/compute","protocol":{"min":1,"max":1}})");
  w.gateway_url = "https://gw.example.com";
  CHECK(well_known_document(w) ==
        R"({"name":"better-compute","version":"0.1.0",)"
        R"("basePath":"/api/compute","protocol":{"min":1,"max":1},)"
        R"("gateway":{"url":"https://gw.example.com",)"
        R"("serverName":"gw.example.com"}})");
}
