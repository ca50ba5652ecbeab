// spec: DESIGN sections 7 and 9 (certificates of the internal CA)
#include "pki/internal.hpp"

#include "pki/bundle.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>
#include <openssl/x509v3.h>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

issuer internal_ca() {
  return make_ca("internal CA", noon).value();
}

bool is_for(const bytes& der, int purpose) {
  auto theirs = openssl_reads(der);
  REQUIRE(theirs != nullptr);
  return X509_check_purpose(theirs.get(), purpose, 0) == 1;
}

}  // namespace

TEST_CASE("internal: a gateway is a client alone, an api a server alone") {
  auto ca = internal_ca();
  auto role = GENERATE(internal_role::gateway, internal_role::api);
  auto made = issue_internal_certificate(ca, role, {"gw-1", "192.0.2.7"}, noon);
  REQUIRE(made);
  const auto& der = made.value().certificate;
  CHECK(internal_role_of(der, ca.certificate) == role);
  CHECK(is_for(der, X509_PURPOSE_SSL_CLIENT) ==
        (role == internal_role::gateway));
  CHECK(is_for(der, X509_PURPOSE_SSL_SERVER) == (role == internal_role::api));
  auto view = parse_certificate(der).value();
  CHECK(view.key == made.value().key.pub());
  CHECK(view.dns_names == std::vector<std::string>{"gw-1"});
  CHECK(view.not_after - view.not_before == internal_lifetime);
  CHECK_FALSE(view.role);
  CHECK(re_encoded(openssl_reads(der).get()) == der);
}

TEST_CASE("internal: OpenSSL takes the chain until its last second") {
  auto ca = internal_ca();
  auto leaf =
      issue_internal_certificate(ca, internal_role::gateway, {}, noon).value();
  auto end = parse_certificate(leaf.certificate).value().not_after;
  CHECK(openssl_verifies(leaf.certificate, ca.certificate, noon) == X509_V_OK);
  CHECK(openssl_verifies(leaf.certificate, ca.certificate, end + seconds{1}) ==
        X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST_CASE("internal: no other certificate of the deployment has a role") {
  auto bundle = make_bundle("compute.example.com", noon).value();
  auto trusted = bundle.internal_ca.certificate;
  auto node = [&](const issuer& ca) {
    return issue_node_certificate(ca,
                                  {.subject_key = bundle.node_ca.key.pub(),
                                   .trust_domain = "compute.example.com",
                                   .site = "site_01k5w000000000000000000000",
                                   .node = "node_01k5w000000000000000000000",
                                   .statements = {},
                                   .now = noon,
                                   .serial_random = {1}})
        .der;
  };
  CHECK_FALSE(internal_role_of(node(bundle.node_ca), trusted));
  // Not even one the internal CA should never sign.
  CHECK_FALSE(internal_role_of(node(bundle.internal_ca), trusted));
  CHECK_FALSE(internal_role_of(trusted, trusted));
  CHECK_FALSE(
      internal_role_of(issue_server_certificate(bundle.serving_ca, {"gw"}, noon)
                           .value()
                           .certificate,
                       trusted));
  CHECK_FALSE(internal_role_of(
      issue_server_certificate(bundle.internal_ca, {"gw"}, noon)
          .value()
          .certificate,
      trusted));
  // A gateway of another deployment.
  CHECK_FALSE(
      internal_role_of(issue_internal_certificate(
                           internal_ca(), internal_role::gateway, {}, noon)
                           .value()
                           .certificate,
                       trusted));
  CHECK_FALSE(internal_role_of({}, trusted));
}

TEST_CASE("internal: names that are none get no certificate") {
  auto bad = GENERATE(as<std::string>{}, "", "a b", "10.0.0.999",
                      "https://api.example.com");
  CAPTURE(bad);
  auto made = issue_internal_certificate(internal_ca(), internal_role::api,
                                         {bad}, noon);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == errc::invalid_input);
}

TEST_CASE("internal: a damaged certificate has no role") {
  auto ca = internal_ca();
  auto good = issue_internal_certificate(ca, internal_role::gateway, {}, noon)
                  .value()
                  .certificate;
  dice d;
  for (int i = 0; i < 2'000; ++i) {
    auto bad = mutate(good, d);
    if (bad != good)
      CHECK_FALSE(internal_role_of(bad, ca.certificate));
  }
}
