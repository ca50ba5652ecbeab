#pragma once

#include <array>
#include <string_view>

namespace bc::pki::tpm {

/// What a node-key attestation fails by (spec: ATTESTATION section 2.5);
/// shared by joins, renewals and rejoins, in the order they are judged.
#define BC_TPM_NODE_KEY_CODES(X)                \
  X(node_key_missing, "node-key-missing")       \
  X(node_key_malformed, "node-key-malformed")   \
  X(node_key_magic, "node-key-magic")           \
  X(node_key_type, "node-key-type")             \
  X(node_key_signer, "node-key-signer")         \
  X(node_key_binding, "node-key-binding")       \
  X(node_key_name, "node-key-name")             \
  X(node_key_signature, "node-key-signature")   \
  X(node_key_algorithm, "node-key-algorithm")   \
  X(node_key_attributes, "node-key-attributes") \
  X(node_key_csr, "node-key-csr")

/// The closed list of the `tpm` attestor's codes, in the order they are judged
/// (spec: ATTESTATION section 2.4). Those under "admission" are for the caller,
/// who knows the rows: nothing here answers them.
#define BC_TPM_CODES(X)                                         \
  X(malformed, "malformed")                                     \
  X(role, "role")                                               \
  X(challenge_unknown, "challenge-unknown")                     \
  X(challenge_expired, "challenge-expired")                     \
  X(challenge_replayed, "challenge-replayed") /* admission */   \
  X(ek_template, "ek-template")                                 \
  X(ek_cert_key, "ek-cert-key")                                 \
  X(ek_denied, "ek-denied")                                     \
  X(ek_cert_malformed, "ek-cert-malformed")                     \
  X(ek_cert_profile, "ek-cert-profile")                         \
  X(ek_cert_chain, "ek-cert-chain")                             \
  X(ek_cert_expired, "ek-cert-expired")                         \
  X(ek_cert_required, "ek-cert-required")                       \
  X(ak_algorithm, "ak-algorithm")                               \
  X(ak_attributes, "ak-attributes")                             \
  X(activation, "activation")                                   \
  BC_TPM_NODE_KEY_CODES(X)                                      \
  X(ek_unknown, "ek-unknown")                   /* admission */ \
  X(ek_request_rejected, "ek-request-rejected") /* admission */ \
  X(ek_bound, "ek-bound")                       /* admission */ \
  X(enrollment_full, "enrollment-full")         /* admission */ \
  /* Of renewals and rejoins of a leaf that names an AK. */     \
  X(key_attestation_missing, "key-attestation-missing")         \
  X(key_attestation_ak, "key-attestation-ak")

enum class code {
#define BC_X(name, text) name,
  BC_TPM_CODES(BC_X)
#undef BC_X
};

inline constexpr std::array every_code{
#define BC_X(name, text) code::name,
    BC_TPM_CODES(BC_X)
#undef BC_X
};

/// The part of a reason after its attestor: "ek-template" of
/// "tpm:ek-template".
[[nodiscard]] constexpr std::string_view text_of(code c) noexcept {
  switch (c) {
#define BC_X(name, text) \
  case code::name:       \
    return text;
    BC_TPM_CODES(BC_X)
#undef BC_X
  }
  return {};
}

}  // namespace bc::pki::tpm
