#pragma once

#include "base/clock.hpp"
#include "base/encoding.hpp"
#include "pki/certificate.hpp"
#include "pki/key.hpp"
#include "pki/pem.hpp"

#include <catch2/catch.hpp>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <memory>
#include <string>
#include <string_view>

namespace bc::pki::test {

inline const time_point noon = from_rfc3339("2026-11-29T12:00:00Z").value();

/// A private key from the number in hexadecimal.
inline private_key key_of(std::string_view hex) {
  std::string padded(64 - hex.size(), '0');
  padded += hex;
  return private_key::from_scalar(from_hex(padded).value()).value();
}

/// An uncompressed point from two coordinates in base64url.
inline bytes point_of(std::string_view x, std::string_view y) {
  bytes out{0x04};
  for (auto text : {x, y}) {
    auto coordinate = from_base64url(text).value();
    out.insert(out.end(), coordinate.begin(), coordinate.end());
  }
  return out;
}

/// 32 bytes that end with one digit, for (0,0), (0,2) and the like.
inline bytes tiny_point(std::uint8_t x, std::uint8_t y) {
  bytes out(65);
  out[0] = 0x04;
  out[32] = x;
  out[64] = y;
  return out;
}

template <auto release>
struct release_with {
  template <class T>
  void operator()(T* p) const {
    release(p);
  }
};
using openssl_certificate = std::unique_ptr<X509, release_with<X509_free>>;
using openssl_key = std::unique_ptr<EVP_PKEY, release_with<EVP_PKEY_free>>;
using openssl_request = std::unique_ptr<X509_REQ, release_with<X509_REQ_free>>;

/// Null unless OpenSSL reads all of it.
inline openssl_certificate openssl_reads(byte_view der) {
  const auto* at = der.data();
  openssl_certificate out{
      d2i_X509(nullptr, &at, static_cast<long>(der.size()))};
  return at == der.data() + der.size() ? std::move(out) : nullptr;
}

inline openssl_request openssl_reads_request(byte_view der) {
  const auto* at = der.data();
  openssl_request out{
      d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size()))};
  return at == der.data() + der.size() ? std::move(out) : nullptr;
}

/// The SPKI as OpenSSL writes it.
inline bytes openssl_spki(EVP_PKEY* key) {
  unsigned char* out = nullptr;
  int size = i2d_PUBKEY(key, &out);
  bytes der(out, out + size);
  OPENSSL_free(out);
  return der;
}

/// X509_V_OK or the error of OpenSSL's own path validation, strict.
inline int openssl_verifies(byte_view leaf, byte_view ca, time_point at) {
  auto theirs = openssl_reads(leaf), root = openssl_reads(ca);
  REQUIRE(theirs != nullptr);
  REQUIRE(root != nullptr);
  std::unique_ptr<X509_STORE, release_with<X509_STORE_free>> store{
      X509_STORE_new()};
  X509_STORE_add_cert(store.get(), root.get());
  std::unique_ptr<X509_STORE_CTX, release_with<X509_STORE_CTX_free>> ctx{
      X509_STORE_CTX_new()};
  X509_STORE_CTX_init(ctx.get(), store.get(), theirs.get(), nullptr);
  auto* param = X509_STORE_CTX_get0_param(ctx.get());
  X509_VERIFY_PARAM_set_time(param, to_millis(at) / 1000);
  X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
  X509_verify_cert(ctx.get());
  return X509_STORE_CTX_get_error(ctx.get());
}

/// The certificate, its signed part encoded anew and not from a cache.
inline bytes re_encoded(X509* certificate) {
  unsigned char* out = nullptr;
  int size = i2d_re_X509_tbs(certificate, &out);
  REQUIRE(size > 0);
  OPENSSL_free(out);
  out = nullptr;
  size = i2d_X509(certificate, &out);
  bytes der(out, out + size);
  OPENSSL_free(out);
  return der;
}

/// Small numbers in a fixed order, so that a failure can be repeated.
class dice {
 public:
  std::size_t below(std::size_t n) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33) % n;
  }

 private:
  std::uint64_t state_ = 42;
};

/// The input with one to three of its bytes changed, added or taken away.
inline bytes mutate(byte_view original, dice& d) {
  auto out = to_bytes(original);
  for (std::size_t i = d.below(3) + 1; i > 0; --i) {
    auto at = static_cast<std::ptrdiff_t>(d.below(out.size()));
    auto byte = static_cast<std::uint8_t>(d.below(256));
    switch (d.below(5)) {
      case 0:
        out.insert(out.begin() + at, byte);
        break;
      case 1:
        out.erase(out.begin() + at);
        break;
      case 2:
        out[static_cast<std::size_t>(at)] ^=
            static_cast<std::uint8_t>(1U << d.below(8));
        break;
      default:
        out[static_cast<std::size_t>(at)] = byte;
    }
  }
  return out;
}

}  // namespace bc::pki::test
