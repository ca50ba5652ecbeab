// Issuers of EK certificates, as openssl and a deny list write them (RFC 2253).
#include "pki/tpm/name_text.hpp"

#include "pki/tpm/ek_certificate.hpp"
#include "tests/support/ek_certificates.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace bc;
using namespace bc::pki::tpm;

TEST_CASE("name text: what openssl prints is one") {
  const auto text = GENERATE(
      as<std::string>{}, "CN=Maker", "CN=Maker,O=Example,C=DE",
      "CN=Infineon OPTIGA(TM) TPM 2.0 ECC CA 042,OU=OPTIGA(TM),O=Infineon "
      "Technologies AG,C=DE",
      "CN=a\\, b,O=\\ x\\+y\\ ", "CN=M\\C3\\BCller", "CN=\\#1", "OU=a+CN=b,O=c",
      "CN=a,CN=b", "CN=a=b", "CN=", "emailAddress=a@b.c,CN=x",
      "CN=a,1.2.3.4.5=#0C0162",
      "CN=one name that is longer than the sixty-four characters of a "
      "standard's");
  INFO(text);
  CHECK(is_name_text(text));
}

TEST_CASE("name text: no other text of a name is one, nor what is none") {
  const auto text = GENERATE(
      as<std::string>{}, "", "maker", "=x", "CN", "CN=a,", "CN=a,,O=b",
      "CN = a", "CN=a, O=b", "CN=a , O=b", "/C=DE/CN=a", "cn=a", "commonName=a",
      "2.5.4.3=a", "issuer=CN=a", "CN=a;O=b", "CN=\"a\"", "CN=M\xC3\xBCller",
      "CN=M\\c3\\bcller", "CN=\\61", "CN=a\\", "CN= a", "CN=#0C0161",
      "1.2.3.4.5=b", "1.2.3.4.5=#0c0162", "1.2.3.4.5=#", "1.2.3.4.5=#0C",
      "1.2.3.4.5=#0500", "1.2.3.4.5=#0101FF", "1.2.3.4.5=#06032A0304",
      "1.2.3.4.5=#0C016200", "CN=a\nO=b", "CN=a\x7F",
      std::string("CN=a\0b", 6));
  INFO(text);
  CHECK_FALSE(is_name_text(text));
}

TEST_CASE("name text: it is bounded") {
  CHECK(is_name_text("CN=" + std::string(1021, 'a')));
  CHECK_FALSE(is_name_text("CN=" + std::string(1022, 'a')));
}

TEST_CASE("name text: an EK certificate's issuer is one") {
  const auto maker = testing::make_ek_ca("Vendor, root + 1", 1);
  const auto read = ek_certificate::read(testing::make_ek_certificate(
      testing::make_ek(testing::key_kind::p256), maker));
  REQUIRE(read);
  CHECK(read->issuer() == "CN=Vendor\\, root \\+ 1");
  CHECK(is_name_text(read->issuer()));
}
