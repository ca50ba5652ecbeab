#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/wire_tpm.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What attestors other than the join token add to the daemon protocol (spec:
/// ATTESTATION sections 1.1, 3 and 4; wire_tpm.hpp has section 2).
namespace bc::wire {

/// POST /v1/join-challenge: what the answer to the challenge will be about.
struct challenge_request {
  std::string attestor;  // as the join will name it
  bytes csr_sha256;      // 32 bytes
  /// evidence["x509pop"].leaf: DER, of the expired certificate; empty: none.
  bytes leaf = {};
  std::optional<tpm_challenge_evidence> tpm = {};  // evidence["tpm"]
};
[[nodiscard]] std::string encode(const challenge_request& request);
/// INVALID_INPUT with the path for a body that is not well formed, as
/// decode_join_request; a leaf has 1 to 4,096 bytes.
[[nodiscard]] result<challenge_request> decode_challenge_request(
    std::string_view body);

/// The body whose exact bytes are signed (purpose `join-challenge`) in an
/// answer `challenge`. Key id, nonce and end are repeated by the join.
struct challenge_body {
  std::string kid;
  bytes nonce;  // 16 bytes
  std::int64_t expires_ms = 0;
  /// Of x509pop: the secret, 32 bytes. Of tpm: the TPM2B_ID_OBJECT that the
  /// EK's TPM opens.
  bytes payload;
  bytes csr_sha256;
  // Of tpm.
  bytes encrypted_secret = {};  // TPM2B_ENCRYPTED_SECRET
  bytes claims_sha256 = {};     // as it was asked for
};
[[nodiscard]] std::string encode(const challenge_body& body);
[[nodiscard]] result<challenge_body> decode_challenge_body(
    std::string_view body);

/// evidence["x509pop"] of a join: the expired certificate and a proof of its
/// key. `signature` is by that key, purpose `rejoin-pop`, over the SHA-256 of
/// the CSR, the SHA-256 of the leaf, the nonce, the decimal text of
/// `expires_ms`, the challenge's secret and the digest of what the request
/// claims (pki/claims_digest.hpp).
struct x509pop_evidence {
  std::vector<bytes> chain;  // DER, leaf first; only the leaf counts
  std::string kid;
  bytes nonce;  // 16 bytes
  std::int64_t expires_ms = 0;
  bytes signature;  // 64 bytes
  /// For a certificate that names an AK: that AK's word on the CSR's key.
  std::optional<key_attestation> attestation = {};
};

/// evidence["discovery"] of a ramdisk's join: the word of the site agent that
/// booted it (pki/vouch.hpp), and the token of its boot, when it has one.
struct discovery_evidence {
  std::string vouch;                             // a compact JWS
  std::optional<std::string> sealed_token = {};  // a compact JWE
};

inline constexpr std::string_view discovery_attestor = "discovery";
inline constexpr std::string_view x509pop_attestor = "x509pop";
inline constexpr std::size_t nonce_size = 16;

}  // namespace bc::wire
