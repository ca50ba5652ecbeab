// spec: ATTESTATION section 2.2, a node's key in its TPM
#include "pki/outside_key.hpp"

#include "pki/bundle.hpp"
#include "pki/certificate.hpp"

#include <catch2/catch.hpp>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

using namespace bc;

namespace {

struct evp_free {
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  void operator()(X509* p) const { X509_free(p); }
};

struct elsewhere {
  pki::private_key key = pki::private_key::generate();
  int asked = 0;
  bool answers = true;
  pki::evp_pkey_handle evp = pki::outside_key(
      key.pub(),
      [this](const pki::sha256_digest& digest) -> result<pki::raw_signature> {
        ++asked;
        if (!answers)
          return fail(errc::unavailable, "gone");
        return key.sign(digest);
      });

  // A DER signature by EVP; empty when it fails.
  bytes sign(byte_view message, const char* digest = "SHA256") {
    std::unique_ptr<EVP_MD_CTX, evp_free> context{EVP_MD_CTX_new()};
    std::size_t size = 0;
    if (EVP_DigestSignInit_ex(context.get(), nullptr, digest, nullptr, nullptr,
                              evp.get(), nullptr) != 1 ||
        EVP_DigestSign(context.get(), nullptr, &size, message.data(),
                       message.size()) != 1)
      return {};
    bytes out(size);
    if (EVP_DigestSign(context.get(), out.data(), &size, message.data(),
                       message.size()) != 1)
      return {};
    out.resize(size);
    return out;
  }
};

bytes certificate_of(const pki::public_key& key) {
  auto now = from_millis(1'764'000'000'000);
  auto bundle = pki::make_bundle("example.test", now).value();
  return pki::issue_node_certificate(bundle.node_ca,
                                     {key,
                                      "example.test",
                                      "site_01k5w000000000000000000000",
                                      "node_01k5w000000000000000000000",
                                      pki::certificate_role::node,
                                      {},
                                      now,
                                      pki::max_node_lifetime,
                                      {1}})
      .der;
}

std::unique_ptr<X509, evp_free> parsed(const bytes& der) {
  const auto* at = der.data();
  return std::unique_ptr<X509, evp_free>{
      d2i_X509(nullptr, &at, static_cast<long>(der.size()))};
}

}  // namespace

TEST_CASE("outside_key: EVP signs by the function, and by nothing else") {
  elsewhere k;
  const auto message = as_bytes("a handshake");
  auto signature = k.sign(message);
  REQUIRE_FALSE(signature.empty());
  CHECK(k.key.pub().verify_der(pki::sha256(message), signature));
  CHECK(k.asked == 1);
  k.answers = false;
  CHECK(k.sign(message).empty());
  CHECK(k.asked == 2);
}

TEST_CASE("outside_key: it signs SHA-256 alone") {
  elsewhere k;
  CHECK_FALSE(k.sign(as_bytes("x"), "SHA2-256").empty());
  for (const char* other : {"SHA1", "SHA384", "SHA512"})
    CHECK(k.sign(as_bytes("x"), other).empty());
}

TEST_CASE("outside_key: a certificate is for it, another's is not") {
  elsewhere k, other;
  auto own = parsed(certificate_of(k.key.pub()));
  auto foreign = parsed(certificate_of(other.key.pub()));
  CHECK(X509_check_private_key(own.get(), k.evp.get()) == 1);
  CHECK(X509_check_private_key(foreign.get(), k.evp.get()) != 1);
}

// As OpenSSL 3.0.0 to 3.0.7 exports every key.
TEST_CASE("outside_key: a compressed point is the same key") {
  for (int i = 0; i < 8; ++i) {
    elsewhere k, other;
    for (const auto* format : {"compressed", "uncompressed"}) {
      INFO(format);
      auto local = pki::evp_key(k.key);
      auto foreign = pki::evp_key(other.key);
      for (auto* key : {local.get(), foreign.get()})
        REQUIRE(EVP_PKEY_set_utf8_string_param(
                    key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, format) ==
                1);
      CHECK(EVP_PKEY_eq(local.get(), k.evp.get()) == 1);
      CHECK(EVP_PKEY_eq(foreign.get(), k.evp.get()) != 1);
    }
  }
}

TEST_CASE("outside_key: keys of the process stay with OpenSSL's provider") {
  elsewhere k;
  auto local = pki::evp_key(k.key);
  CHECK(EVP_PKEY_eq(local.get(), k.evp.get()) == 1);
  CHECK(EVP_PKEY_get0_provider(local.get()) !=
        EVP_PKEY_get0_provider(k.evp.get()));
  auto fresh = pki::evp_key(pki::private_key::generate());
  CHECK(EVP_PKEY_eq(fresh.get(), k.evp.get()) != 1);
  CHECK(EVP_PKEY_get0_provider(local.get()) ==
        EVP_PKEY_get0_provider(fresh.get()));
}
