#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/key.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

/// Certificates as DER (RFC 5280), read and written by hand; private to pki.
namespace bc::pki::x509 {

struct extension {
  byte_view id;  // the OID's whole element
  bool critical = false;
  byte_view value;
};

/// Views into a certificate whose form was checked.
struct parts {
  byte_view tbs;  // whole element
  byte_view serial;
  byte_view signature_algorithm;  // whole element
  byte_view issuer;               // whole Name
  byte_view subject;              // whole Name
  time_point not_before;
  time_point not_after;
  byte_view spki;  // whole element
  std::vector<extension> extensions;
  byte_view signature;

  [[nodiscard]] const extension* find(byte_view id) const;
};

/// INVALID_INPUT for anything but one X.509 v3 certificate in DER.
[[nodiscard]] result<parts> split(byte_view der);

/// A Name of one attribute, a UTF8String; `type` is an OID's whole element.
[[nodiscard]] bytes name(byte_view type, std::string_view text);

/// cA of BasicConstraints; false when absent, nullopt when malformed.
[[nodiscard]] std::optional<bool> is_ca(const parts& certificate);

/// True for a CA that keyCertSign does not exclude (RFC 5280 section 4.2.1.3).
[[nodiscard]] bool may_sign_certificates(const parts& certificate);

/// A key id as RFC 7093 section 2 method 1 makes it.
[[nodiscard]] bytes key_id(const public_key& key);

/// An Extension; `id` is an OID's whole element.
[[nodiscard]] bytes make_extension(byte_view id, bool critical,
                                   byte_view value);
[[nodiscard]] bytes subject_key_id_extension(byte_view id);
[[nodiscard]] bytes authority_key_id_extension(byte_view id);

struct fields {
  std::array<std::uint8_t, 16> serial;  // from serial_of
  byte_view issuer;                     // whole Name
  time_point not_before;
  time_point not_after;
  byte_view subject;  // whole Name
  const public_key& key;
  std::vector<bytes> extensions;
};

/// Makes 16 random octets a serial: positive, non-zero and of one length.
[[nodiscard]] std::array<std::uint8_t, 16> serial_of(
    std::array<std::uint8_t, 16> random) noexcept;

/// The certificate's DER, signed with ecdsa-with-SHA256.
[[nodiscard]] bytes sign(const private_key& signer, const fields& f);

}  // namespace bc::pki::x509
