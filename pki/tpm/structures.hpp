#pragma once

#include "base/bytes.hpp"
#include "pki/tpm/constants.hpp"

#include <cstdint>
#include <optional>
#include <variant>

/// The structures of TPM 2.0 that travel in evidence. Every reader takes the
/// whole input or none of it: a length that lies, an algorithm that the
/// structure does not know, a reserved bit, a byte too many is nullopt
/// (spec: ATTESTATION section 1). What one reads, its writer writes again byte
/// for byte.
namespace bc::pki::tpm {

inline constexpr std::size_t max_public_size = 1024;
inline constexpr std::size_t max_attest_size = 1024;
inline constexpr std::size_t max_signature_size = 1024;
inline constexpr unsigned max_rsa_bits = 4096;

/// TPMT_SYM_DEF_OBJECT; bits and mode are 0 with TPM_ALG_NULL.
struct symmetric {
  std::uint16_t algorithm = alg::null;
  std::uint16_t bits = 0;
  std::uint16_t mode = 0;
  bool operator==(const symmetric&) const = default;
};

/// A scheme with the hash it names, if it names one (TPMT_RSA_SCHEME,
/// TPMT_ECC_SCHEME, TPMT_KDF_SCHEME, TPMT_KEYEDHASH_SCHEME).
struct scheme {
  std::uint16_t algorithm = alg::null;
  std::uint16_t hash = 0;
  /// The count of ECDAA; the KDF of XOR.
  std::uint16_t extra = 0;
  bool operator==(const scheme&) const = default;
};

struct rsa_parameters {
  tpm::symmetric symmetric = {};
  tpm::scheme scheme = {};
  std::uint16_t bits = 0;
  std::uint32_t exponent = 0;  // 0 means 65537
  bytes modulus = {};          // as received
  bool operator==(const rsa_parameters&) const = default;
};

struct ecc_parameters {
  tpm::symmetric symmetric = {};
  tpm::scheme scheme = {};
  std::uint16_t curve = 0;
  tpm::scheme kdf = {};
  bytes x = {};  // as received: may be shorter than the field, or longer
  bytes y = {};
  bool operator==(const ecc_parameters&) const = default;
};

/// An HMAC or XOR key, or a symmetric cipher: no key of ours, but a key.
struct secret_key_parameters {
  tpm::scheme scheme = {};        // of a keyed hash
  tpm::symmetric symmetric = {};  // of a cipher
  bytes unique = {};
  bool operator==(const secret_key_parameters&) const = default;
};

/// TPMT_PUBLIC.
struct public_area {
  std::uint16_t type = 0;
  std::uint16_t name_alg = alg::null;
  std::uint32_t attributes = 0;
  bytes auth_policy = {};
  std::variant<rsa_parameters, ecc_parameters, secret_key_parameters>
      parameters;

  [[nodiscard]] const rsa_parameters* rsa() const noexcept {
    return std::get_if<rsa_parameters>(&parameters);
  }
  [[nodiscard]] const ecc_parameters* ecc() const noexcept {
    return std::get_if<ecc_parameters>(&parameters);
  }
  [[nodiscard]] bool has(std::uint32_t all) const noexcept {
    return (attributes & all) == all;
  }
  [[nodiscard]] bool has_any(std::uint32_t some) const noexcept {
    return (attributes & some) != 0;
  }
  bool operator==(const public_area&) const = default;
};

/// TPMS_ATTEST. Clock and firmware are obfuscated for keys outside the
/// endorsement hierarchy, so nothing of them is read.
struct attest {
  std::uint32_t magic = 0;
  std::uint16_t type = 0;
  bytes qualified_signer = {};
  bytes extra_data = {};
  bytes clock_info = {};  // 17 bytes
  std::uint64_t firmware_version = 0;
  /// TPMS_CERTIFY_INFO, when the type is TPM_ST_ATTEST_CERTIFY.
  bytes name = {};
  bytes qualified_name = {};
  /// What follows the head in any other type, unread.
  bytes other = {};
  bool operator==(const attest&) const = default;
};

/// TPMT_SIGNATURE.
struct signature {
  std::uint16_t algorithm = alg::null;
  std::uint16_t hash = 0;
  bytes rsa = {};  // of RSASSA and RSAPSS
  bytes r = {};    // of the signatures over curves, as received
  bytes s = {};
  bytes digest = {};  // of HMAC
  bool operator==(const signature&) const = default;
};

[[nodiscard]] std::optional<public_area> parse_public(byte_view in);
[[nodiscard]] std::optional<attest> parse_attest(byte_view in);
[[nodiscard]] std::optional<signature> parse_signature(byte_view in);

[[nodiscard]] bytes encode(const public_area& p);
[[nodiscard]] bytes encode(const attest& a);
[[nodiscard]] bytes encode(const signature& s);

}  // namespace bc::pki::tpm
