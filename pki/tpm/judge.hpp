#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "pki/certificate.hpp"
#include "pki/tpm/challenge.hpp"
#include "pki/tpm/code.hpp"
#include "pki/tpm/ek_certificate.hpp"
#include "pki/tpm/key_attestation.hpp"
#include "pki/tpm/structures.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The `tpm` attestor's rows 1 to 12 (spec: ATTESTATION section 2.4): over
/// bytes alone, so the same evidence at the same time is judged the same.
/// Row 13, admission, and the nonce's single use belong to the caller.
namespace bc::pki::tpm {

inline constexpr std::size_t max_evidence_size = 32 * 1024;

/// What a machine sends in the second leg; an empty field was not sent.
struct evidence {
  challenge repeated;
  bytes activation;  // what TPM2_ActivateCredential gave
  bytes ek_public;   // TPMT_PUBLIC
  bytes ek_certificate;
  std::vector<bytes> ek_chain;
  bytes ak_public;          // TPMT_PUBLIC
  bytes node_key_public;    // TPMT_PUBLIC
  bytes certify_info;       // TPMS_ATTEST
  bytes certify_signature;  // TPMT_SIGNATURE
};

struct judge_config {
  std::vector<bytes> ek_roots;          // DER
  std::vector<bytes> ek_intermediates;  // DER
  /// EK hashes as 64 lower-case hex digits, and issuers of EK certificates by
  /// their name (RFC 2253).
  std::vector<std::string> denied;
  bool require_ek_certificate = false;
  bool require_certified_key = true;
};

enum class ek_certificate_state { verified, unverified, absent };
/// "verified", "unverified", "absent".
[[nodiscard]] std::string_view text_of(ek_certificate_state s) noexcept;

/// A machine that proved rows 1 to 12.
struct admitted {
  std::string ek_hash;  // 64 lower-case hex digits
  ek_certificate_state ek_certificate = ek_certificate_state::absent;
  /// Why not verified: for an admission that needs it to be (section 2.6 (d)).
  std::optional<code> ek_certificate_fault;
  /// What the certificate says, verified or not.
  tpm_identity identity;
  /// "urn:bc:tpm-ak:…"; empty when the node's key is not attested.
  std::string statement;
  [[nodiscard]] bool node_key_attested() const noexcept {
    return !statement.empty();
  }
};

struct judge_context {
  certificate_role role = certificate_role::node;
  byte_view csr_der;  // its form and signature were checked
  sha256_digest claims_sha256{};
  std::span<const challenge_key> challenge_keys;
  time_point now;
};

/// The first row that fails, or what was proved.
[[nodiscard]] std::variant<admitted, code> judge(const evidence& e,
                                                 const judge_config& config,
                                                 const judge_context& ctx);

/// What the first leg is answered with, and what it is answered for: the EK by
/// rows 1, 3 and 4 and the AK by row 1 are checked here, since no credential
/// can be made for another; nothing else is said so early.
struct challenge_request {
  bytes ek_public;
  bytes ak_public;
  sha256_digest csr_sha256{};
  sha256_digest claims_sha256{};
};
struct challenge_answer {
  challenge given;
  bytes credential_blob;   // TPM2B_ID_OBJECT
  bytes encrypted_secret;  // TPM2B_ENCRYPTED_SECRET
};
[[nodiscard]] std::variant<challenge_answer, code> answer_challenge(
    const challenge_request& request, const challenge_key& key,
    const std::array<std::uint8_t, 16>& nonce, time_point now);

}  // namespace bc::pki::tpm
