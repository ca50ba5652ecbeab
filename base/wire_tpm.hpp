#pragma once

#include "base/bytes.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What a TPM adds to the daemon protocol (spec: ATTESTATION sections 2.1 and
/// 2.7). TPM structures travel as the TPM marshals them; the codecs hold their
/// bounds alone, pki/tpm reads them.
namespace bc::wire {

/// A TPM2_Certify of the new key by the AK that the certificate names, over the
/// SHA-256 of the CSR: `keyAttestation` of a renewal and of
/// evidence["x509pop"].
struct key_attestation {
  bytes ak_public;        // TPMT_PUBLIC
  bytes node_key_public;  // TPMT_PUBLIC
  bytes certify_info;     // TPMS_ATTEST
  bytes signature;        // TPMT_SIGNATURE
};

/// evidence["tpm"] of a request for a challenge.
struct tpm_challenge_evidence {
  bytes ek_public;  // TPMT_PUBLIC
  bytes ak_public;  // TPMT_PUBLIC
  /// What the join will claim (pki/claims_digest.hpp); the signed answer
  /// repeats it and its secret is derived with it, so that a gateway, which
  /// relays the claims in the open, can change none of them.
  bytes claims_sha256;  // 32 bytes
};

/// evidence["tpm"] of a join.
struct tpm_evidence {
  std::string kid;
  bytes nonce;  // 16 bytes
  std::int64_t expires_ms = 0;
  bytes activation;           // 32 bytes: what TPM2_ActivateCredential gave
  bytes ek_public;            // TPMT_PUBLIC
  bytes ek_certificate = {};  // DER; empty: none
  std::vector<bytes> ek_chain = {};  // DER, at most 4
  bytes ak_public = {};              // TPMT_PUBLIC
  // The certified node key; empty: the key is in no TPM.
  bytes node_key_public = {};    // TPMT_PUBLIC
  bytes certify_info = {};       // TPMS_ATTEST
  bytes certify_signature = {};  // TPMT_SIGNATURE
};

inline constexpr std::string_view tpm_attestor = "tpm";

}  // namespace bc::wire
