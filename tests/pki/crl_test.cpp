// spec: RFC 5280 section 5
#include "pki/crl.hpp"

#include "support.hpp"

#include <catch2/catch.hpp>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

template <auto release>
struct deleter {
  template <class T>
  void operator()(T* p) const {
    release(p);
  }
};
using crl_ptr = std::unique_ptr<X509_CRL, deleter<X509_CRL_free>>;
using x509_ptr = std::unique_ptr<X509, deleter<X509_free>>;

crl_ptr parsed(const bytes& der) {
  const auto* p = der.data();
  crl_ptr out{d2i_X509_CRL(nullptr, &p, static_cast<long>(der.size()))};
  REQUIRE(out);
  CHECK(p == der.data() + der.size());
  return out;
}

x509_ptr certificate(const issuer& ca) {
  const auto* p = ca.certificate.data();
  return x509_ptr{
      d2i_X509(nullptr, &p, static_cast<long>(ca.certificate.size()))};
}

const issuer& ca() {
  static const auto made = make_ca("better-compute node CA", noon).value();
  return made;
}

long number_of(const crl_ptr& crl) {
  std::unique_ptr<ASN1_INTEGER, deleter<ASN1_INTEGER_free>> n{
      static_cast<ASN1_INTEGER*>(
          X509_CRL_get_ext_d2i(crl.get(), NID_crl_number, nullptr, nullptr))};
  REQUIRE(n);
  return ASN1_INTEGER_get(n.get());
}

std::string serial_of(const X509_REVOKED* r) {
  std::unique_ptr<BIGNUM, deleter<BN_free>> n{
      ASN1_INTEGER_to_BN(X509_REVOKED_get0_serialNumber(r), nullptr)};
  std::unique_ptr<char, decltype([](char* p) { OPENSSL_free(p); })> hex{
      BN_bn2hex(n.get())};
  std::string out{hex.get()};
  for (char& c : out)
    c = static_cast<char>(std::tolower(c));
  return out;
}

}  // namespace

TEST_CASE("crl: OpenSSL reads it, and the CA's key signed it") {
  const std::vector<revoked_serial> revoked{
      {"7f000000000000000000000000000001", noon, crl_reason::superseded},
      {"0123456789abcdef0123456789abcdef", noon + seconds{5},
       crl_reason::cessation_of_operation},
      {"80000000000000000000000000000000", noon, crl_reason::unspecified}};
  auto der = make_crl(ca(), revoked, 300, noon, noon + seconds{3600}).value();
  auto crl = parsed(der);
  auto above = certificate(ca());
  CHECK(X509_CRL_verify(crl.get(), X509_get0_pubkey(above.get())) == 1);
  CHECK(X509_NAME_cmp(X509_CRL_get_issuer(crl.get()),
                      X509_get_subject_name(above.get())) == 0);
  CHECK(X509_CRL_get_version(crl.get()) == 1);
  CHECK(number_of(crl) == 300);
  auto* list = X509_CRL_get_REVOKED(crl.get());
  REQUIRE(sk_X509_REVOKED_num(list) == 3);
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    const auto* r = sk_X509_REVOKED_value(list, i);
    auto expected = revoked[static_cast<std::size_t>(i)];
    if (expected.serial.starts_with('0'))
      CHECK(serial_of(r) == expected.serial.substr(0));
    else
      CHECK(serial_of(r) == expected.serial);
    std::unique_ptr<ASN1_ENUMERATED, deleter<ASN1_ENUMERATED_free>> reason{
        static_cast<ASN1_ENUMERATED*>(
            X509_REVOKED_get_ext_d2i(r, NID_crl_reason, nullptr, nullptr))};
    if (expected.why == crl_reason::unspecified)
      CHECK(reason == nullptr);
    else
      CHECK(ASN1_ENUMERATED_get(reason.get()) ==
            static_cast<long>(expected.why));
  }
}

TEST_CASE("crl: one without entries has no list") {
  auto der = make_crl(ca(), {}, 1, noon, noon + seconds{60}).value();
  auto crl = parsed(der);
  CHECK(X509_CRL_get_REVOKED(crl.get()) == nullptr);
  CHECK(number_of(crl) == 1);
}

TEST_CASE("crl: what is no serial is refused") {
  for (const char* bad : {"", "xy", "0"}) {
    CAPTURE(bad);
    const std::vector<revoked_serial> one{{bad, noon}};
    auto made = make_crl(ca(), one, 1, noon, noon + seconds{60});
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().code == errc::invalid_input);
  }
}
