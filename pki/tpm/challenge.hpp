#pragma once

#include "base/clock.hpp"
#include "base/secret_bytes.hpp"
#include "pki/bundle.hpp"
#include "pki/digest.hpp"
#include "pki/tpm/code.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The challenge without stored state (spec: ATTESTATION section 1.1): its
/// secret is derived from what it was given for, so any API process can check
/// the answer, and an answer about anything else does not fit.
namespace bc::pki::tpm {

inline constexpr seconds challenge_lifetime{120};
/// How far the clock that judges may be behind the one that gave. ATTESTATION
/// 2.4 row 2 allows none, and so refuses an honest machine whose challenge came
/// by a clock a few milliseconds ahead; a later end cannot be forged, since the
/// secret is derived with it.
inline constexpr seconds challenge_slack{10};

/// What a secret is derived with: K of one join-encryption key.
struct challenge_key {
  std::string kid;  // the pin of that key
  secret_bytes key;
};

/// Of the current key first, then of the other one while keys rotate.
[[nodiscard]] std::vector<challenge_key> challenge_keys(
    const key_bundle& bundle);

/// What the machine is given, and repeats.
struct challenge {
  std::string kid;
  std::array<std::uint8_t, 16> nonce{};
  time_point expires_at;  // on the wire in milliseconds
};

/// What the challenge is about.
struct challenge_subject {
  std::string_view attestor;  // "tpm", "x509pop"
  sha256_digest csr_sha256{};
  sha256_digest evidence{};
};

/// Of the `tpm` attestor: the EK's TPMT_PUBLIC, the AK's Name, and what the
/// join claims beside them (claims_digest.hpp), which no TPM signs.
[[nodiscard]] sha256_digest tpm_evidence(byte_view ek_public, byte_view ak_name,
                                         const sha256_digest& claims);
/// Of the `x509pop` attestor: the certificate's DER.
[[nodiscard]] sha256_digest x509pop_evidence(byte_view leaf);

/// What of a challenge is used once, whoever answers it.
[[nodiscard]] sha256_digest challenge_proof(std::string_view attestor,
                                            byte_view nonce);

[[nodiscard]] challenge make_challenge(
    const challenge_key& key, const std::array<std::uint8_t, 16>& nonce,
    time_point now);

/// 32 bytes.
[[nodiscard]] secret_bytes challenge_secret(const challenge_key& key,
                                            const challenge& given,
                                            const challenge_subject& about);

/// The secret again from what the machine repeats: `challenge_unknown` for a
/// key that is none of these, `challenge_expired` unless it ends after now and
/// within the lifetime and the slack from now. That it is used once is the
/// caller's to hold.
[[nodiscard]] std::variant<secret_bytes, code> recall_secret(
    std::span<const challenge_key> keys, const challenge& repeated,
    const challenge_subject& about, time_point now);

}  // namespace bc::pki::tpm
