#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "pki/tpm/code.hpp"
#include "pki/tpm/structures.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bc::pki::tpm {

inline constexpr std::size_t max_certificate_size = 4096;
inline constexpr std::size_t max_intermediates = 4;

/// What an NV index of EK certificates holds, cut to the certificate: vendors
/// fill the rest with 0xFF or 0x00, and some put 10 01 00 and a length before
/// it (spec: ATTESTATION section 2.8). nullopt when no certificate is in it
/// whole.
[[nodiscard]] std::optional<bytes> trim_certificate(byte_view index);

/// What a critical or plain SAN says of the TPM (2.23.133.2.1, .2, .3); empty
/// where it says nothing, or nothing that can be shown.
struct tpm_identity {
  std::string manufacturer;
  std::string model;
  std::string version;
  bool operator==(const tpm_identity&) const = default;
};

/// An EK certificate as read: leniently, since many in the field are not quite
/// DER, and to its last byte.
class ek_certificate {
 public:
  /// nullopt when it is no X.509 certificate, is longer than the cap, or has
  /// bytes behind it.
  [[nodiscard]] static std::optional<ek_certificate> read(byte_view der);

  /// Row 5: it is for this key, by value: n and e, or the curve and the point.
  /// An RSA key named id-RSAES-OAEP is the same key.
  [[nodiscard]] bool is_for(const public_area& ek) const;

  /// Row 6: v3, no CA, usable as an EK, nothing critical but what we read.
  /// nullopt, `ek_cert_malformed` or `ek_cert_profile`.
  [[nodiscard]] std::optional<code> check_profile() const;

  [[nodiscard]] const tpm_identity& identity() const noexcept;
  /// RFC 2253, as `openssl x509 -issuer -nameopt RFC2253` prints it.
  [[nodiscard]] const std::string& issuer() const noexcept;

  /// Row 7: a chain of CAs to one of the roots at that time, signed with
  /// SHA-256 or better unless a root itself signed; nothing is fetched. A root
  /// need not be self-signed. nullopt, `ek_cert_chain` or `ek_cert_expired`.
  [[nodiscard]] std::optional<code> check_chain(
      const std::vector<bytes>& roots, const std::vector<bytes>& intermediates,
      const std::vector<bytes>& sent, time_point now) const;

 private:
  struct impl;
  explicit ek_certificate(std::shared_ptr<const impl> i);
  std::shared_ptr<const impl> impl_;
};

}  // namespace bc::pki::tpm
