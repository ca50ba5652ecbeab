// spec: joining#adopting-a-brownfield-server (gateway certificates)
#include "support.hpp"

#include <catch2/catch.hpp>
#include <openssl/x509v3.h>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

TEST_CASE("authority: server certificates name DNS names and addresses") {
  auto ca = make_ca("serving CA", noon).value();
  auto server = issue_server_certificate(
      ca, {"GW.example.com", "*.eu.example.com", "192.0.2.7", "2001:db8::1"},
      noon);
  REQUIRE(server.has_value());
  auto view = parse_certificate(server.value().certificate);
  REQUIRE(view.has_value());
  CHECK(view.value().key == server.value().key.pub());
  CHECK(view.value().dns_names ==
        std::vector<std::string>{"gw.example.com", "*.eu.example.com"});
  CHECK_FALSE(view.value().role);
  CHECK(is_signed_by(server.value().certificate, ca.certificate));
  CHECK(openssl_verifies(server.value().certificate, ca.certificate, noon) ==
        X509_V_OK);
  auto theirs = openssl_reads(server.value().certificate);
  CHECK(X509_check_ip_asc(theirs.get(), "192.0.2.7", 0) == 1);
  CHECK(X509_check_ip_asc(theirs.get(), "2001:db8::1", 0) == 1);
  CHECK(X509_check_ip_asc(theirs.get(), "192.0.2.8", 0) == 0);
  CHECK(X509_check_purpose(theirs.get(), X509_PURPOSE_SSL_SERVER, 0) == 1);
  CHECK(X509_check_purpose(theirs.get(), X509_PURPOSE_SSL_CLIENT, 0) == 0);
  CHECK(re_encoded(theirs.get()) == server.value().certificate);
}

TEST_CASE("authority: names that are none get no server certificate") {
  auto ca = make_ca("serving CA", noon).value();
  CHECK_FALSE(issue_server_certificate(ca, {}, noon));
  auto bad = GENERATE(as<std::string>{}, "", "a b", "https://a", "a/b", "a..b",
                      ".a", "a.", "-a.b", "*", "*.*.a", "a.*.b", "a*.b",
                      "10.0.0.999", "10.0.0", "user@a", std::string(64, 'a'),
                      std::string("a\0b", 3));
  CAPTURE(bad);
  auto refused = issue_server_certificate(ca, {"good.example.com", bad}, noon);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::invalid_input);
}

TEST_CASE("certificate: PEM of a certificate goes both ways") {
  auto ca = make_ca("node CA", noon).value();
  auto pem = certificate_pem(ca.certificate);
  CHECK(certificate_from_pem(pem).value() == ca.certificate);
  CHECK_FALSE(certificate_from_pem(pem + pem));
  CHECK_FALSE(certificate_from_pem(certificate_pem(bytes{0x30, 0})));
  CHECK_FALSE(certificate_from_pem(""));
  CHECK_FALSE(make_ca("", noon));
  CHECK_FALSE(make_ca(std::string(65, 'x'), noon));
}
