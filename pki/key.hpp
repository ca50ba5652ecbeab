#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "pki/digest.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace bc::pki {

/// An uncompressed P-256 point: 0x04, x, y (SEC 1 section 2.3.3).
using point = std::array<std::uint8_t, 65>;
/// r and s, 32 bytes each, big endian (the form of RFC 7518 section 3.4). All
/// signatures of our own protocol have it: constant length, one encoding.
using raw_signature = std::array<std::uint8_t, 64>;

/// A P-256 public key that is on the curve.
class public_key {
 public:
  /// INVALID_INPUT for a point off the curve, at infinity or not reduced.
  [[nodiscard]] static result<public_key> from_point(byte_view sec1);
  /// Strict: named curve prime256v1, uncompressed, nothing trailing.
  [[nodiscard]] static result<public_key> from_spki(byte_view der);

  [[nodiscard]] const point& sec1() const noexcept { return point_; }
  /// DER SubjectPublicKeyInfo, 91 bytes.
  [[nodiscard]] bytes spki() const;
  [[nodiscard]] sha256_digest spki_sha256() const;
  /// "sha256/" + base64 of the SHA-256 of the SPKI.
  [[nodiscard]] std::string pin() const;

  [[nodiscard]] bool verify(const sha256_digest& digest,
                            const raw_signature& signature) const;
  /// An ECDSA-Sig-Value, strict DER.
  [[nodiscard]] bool verify_der(const sha256_digest& digest,
                                byte_view signature) const;

  bool operator==(const public_key& other) const {
    return point_ == other.point_;
  }

 private:
  friend class private_key;
  explicit public_key(const point& p) : point_(p) {}
  point point_;
};

/// A P-256 private key.
class private_key {
 public:
  [[nodiscard]] static private_key generate();
  /// A scalar of 32 bytes in [1, n-1]; else INVALID_INPUT.
  [[nodiscard]] static result<private_key> from_scalar(byte_view scalar);
  /// Unencrypted PKCS#8 PEM of a P-256 key; else INVALID_INPUT.
  [[nodiscard]] static result<private_key> from_pkcs8_pem(std::string_view pem);

  private_key(private_key&&) noexcept;
  private_key& operator=(private_key&&) noexcept;
  ~private_key();

  [[nodiscard]] const public_key& pub() const noexcept;
  [[nodiscard]] secret_bytes scalar() const;
  [[nodiscard]] secret_bytes pkcs8_pem() const;
  [[nodiscard]] raw_signature sign(const sha256_digest& digest) const;
  /// The same as strict DER, for X.509 and PKCS#10.
  [[nodiscard]] bytes sign_der(const sha256_digest& digest) const;
  /// The x coordinate of the shared point: always 32 bytes.
  [[nodiscard]] secret_bytes ecdh(const public_key& peer) const;
  [[nodiscard]] private_key clone() const;

 private:
  struct impl;
  explicit private_key(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

/// True for "sha256/" + 44 characters of padded base64 of 32 bytes.
[[nodiscard]] bool is_pin(std::string_view text);

}  // namespace bc::pki
