#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace bc::events {

/// The closed lists of reasons: enumerator, attestor, whole wire text. The
/// limiter is keyed by them, so free text would defeat it.
#define BC_JOIN_REFUSAL_REASONS(X)                                     \
  X(token_malformed, "join-token", "join-token:malformed")             \
  X(token_unknown, "join-token", "join-token:unknown")                 \
  X(token_secret_mismatch, "join-token", "join-token:secret-mismatch") \
  X(token_revoked, "join-token", "join-token:revoked")                 \
  X(token_expired, "join-token", "join-token:expired")                 \
  X(token_exhausted, "join-token", "join-token:exhausted")             \
  X(token_role_mismatch, "join-token", "join-token:role-mismatch")     \
  X(join_token, "join-token", "join:token")                            \
  X(join_csr, "join-token", "join:csr")                                \
  X(join_expect, "join-token", "join:expect")                          \
  X(join_placeholder, "join-token", "join:placeholder-hardware")       \
  X(join_reclaim, "join-token", "join:reclaim")                        \
  X(join_pool, "join-token", "join:pool")                              \
  X(join_tenant, "join-token", "join:tenant")                          \
  X(join_site, "join-token", "join:site")                              \
  X(join_pool_attestor, "join-token", "join:pool-attestor")            \
  X(join_attestor, "unknown", "join:attestor")

/// Of joins by a TPM: every code of pki/tpm/code.hpp that a join can end with
/// (ATTESTATION section 2.4), in their order.
#define BC_TPM_REFUSAL_REASONS(X)                              \
  X(tpm_malformed, "tpm", "tpm:malformed")                     \
  X(tpm_role, "tpm", "tpm:role")                               \
  X(tpm_challenge_unknown, "tpm", "tpm:challenge-unknown")     \
  X(tpm_challenge_expired, "tpm", "tpm:challenge-expired")     \
  X(tpm_challenge_replayed, "tpm", "tpm:challenge-replayed")   \
  X(tpm_ek_template, "tpm", "tpm:ek-template")                 \
  X(tpm_ek_cert_key, "tpm", "tpm:ek-cert-key")                 \
  X(tpm_ek_denied, "tpm", "tpm:ek-denied")                     \
  X(tpm_ek_cert_malformed, "tpm", "tpm:ek-cert-malformed")     \
  X(tpm_ek_cert_profile, "tpm", "tpm:ek-cert-profile")         \
  X(tpm_ek_cert_chain, "tpm", "tpm:ek-cert-chain")             \
  X(tpm_ek_cert_expired, "tpm", "tpm:ek-cert-expired")         \
  X(tpm_ek_cert_required, "tpm", "tpm:ek-cert-required")       \
  X(tpm_ak_algorithm, "tpm", "tpm:ak-algorithm")               \
  X(tpm_ak_attributes, "tpm", "tpm:ak-attributes")             \
  X(tpm_activation, "tpm", "tpm:activation")                   \
  X(tpm_node_key_missing, "tpm", "tpm:node-key-missing")       \
  X(tpm_node_key_malformed, "tpm", "tpm:node-key-malformed")   \
  X(tpm_node_key_magic, "tpm", "tpm:node-key-magic")           \
  X(tpm_node_key_type, "tpm", "tpm:node-key-type")             \
  X(tpm_node_key_signer, "tpm", "tpm:node-key-signer")         \
  X(tpm_node_key_binding, "tpm", "tpm:node-key-binding")       \
  X(tpm_node_key_name, "tpm", "tpm:node-key-name")             \
  X(tpm_node_key_signature, "tpm", "tpm:node-key-signature")   \
  X(tpm_node_key_algorithm, "tpm", "tpm:node-key-algorithm")   \
  X(tpm_node_key_attributes, "tpm", "tpm:node-key-attributes") \
  X(tpm_node_key_csr, "tpm", "tpm:node-key-csr")               \
  X(tpm_ek_unknown, "tpm", "tpm:ek-unknown")                   \
  X(tpm_ek_request_rejected, "tpm", "tpm:ek-request-rejected") \
  X(tpm_ek_bound, "tpm", "tpm:ek-bound")                       \
  X(tpm_enrollment_full, "tpm", "tpm:enrollment-full")

/// Of joins by a site agent's vouch (ATTESTATION section 4).
#define BC_DISCOVERY_REFUSAL_REASONS(X)                                  \
  X(discovery_role, "discovery", "discovery:role")                       \
  X(discovery_vouch_missing, "discovery", "discovery:vouch-missing")     \
  X(discovery_vouch_malformed, "discovery", "discovery:vouch-malformed") \
  X(discovery_vouch_expired, "discovery", "discovery:vouch-expired")     \
  X(discovery_vouch_replayed, "discovery", "discovery:vouch-replayed")   \
  X(discovery_vouch_signer, "discovery", "discovery:vouch-signer")       \
  X(discovery_vouch_signature, "discovery", "discovery:vouch-signature") \
  X(discovery_vouch_csr, "discovery", "discovery:vouch-csr")             \
  X(discovery_vouch_claims, "discovery", "discovery:vouch-claims")       \
  X(discovery_lease, "discovery", "discovery:lease")                     \
  X(discovery_mac, "discovery", "discovery:mac")                         \
  X(discovery_token, "discovery", "discovery:token")                     \
  X(discovery_workflow, "discovery", "discovery:workflow")               \
  X(discovery_rejected, "discovery", "discovery:rejected")               \
  X(discovery_enrollment_full, "discovery", "discovery:enrollment-full")

/// Of joins by the node's own expired certificate (ATTESTATION section 3).
#define BC_X509POP_REFUSAL_REASONS(X)                                      \
  X(x509pop_malformed, "x509pop", "x509pop:malformed")                     \
  X(x509pop_challenge_unknown, "x509pop", "x509pop:challenge-unknown")     \
  X(x509pop_challenge_expired, "x509pop", "x509pop:challenge-expired")     \
  X(x509pop_challenge_replayed, "x509pop", "x509pop:challenge-replayed")   \
  X(x509pop_unknown_certificate, "x509pop", "x509pop:unknown-certificate") \
  X(x509pop_pop, "x509pop", "x509pop:pop")                                 \
  X(x509pop_revoked, "x509pop", "x509pop:revoked")                         \
  X(x509pop_generation, "x509pop", "x509pop:generation")                   \
  X(x509pop_expired, "x509pop", "x509pop:expired")                         \
  X(x509pop_role, "x509pop", "x509pop:role")                               \
  X(x509pop_node, "x509pop", "x509pop:node")                               \
  X(x509pop_hardware, "x509pop", "x509pop:hardware-mismatch")              \
  X(x509pop_key_attestation, "x509pop", "x509pop:key-attestation-missing") \
  X(x509pop_key_attestation_ak, "x509pop", "x509pop:key-attestation-ak")   \
  X(x509pop_node_key_missing, "x509pop", "x509pop:node-key-missing")       \
  X(x509pop_node_key_malformed, "x509pop", "x509pop:node-key-malformed")   \
  X(x509pop_node_key_magic, "x509pop", "x509pop:node-key-magic")           \
  X(x509pop_node_key_type, "x509pop", "x509pop:node-key-type")             \
  X(x509pop_node_key_signer, "x509pop", "x509pop:node-key-signer")         \
  X(x509pop_node_key_binding, "x509pop", "x509pop:node-key-binding")       \
  X(x509pop_node_key_name, "x509pop", "x509pop:node-key-name")             \
  X(x509pop_node_key_signature, "x509pop", "x509pop:node-key-signature")   \
  X(x509pop_node_key_algorithm, "x509pop", "x509pop:node-key-algorithm")   \
  X(x509pop_node_key_attributes, "x509pop", "x509pop:node-key-attributes") \
  X(x509pop_node_key_csr, "x509pop", "x509pop:node-key-csr")

/// Of renewals; `renew` stands where a join has its attestor.
#define BC_RENEW_REFUSAL_REASONS(X)                                  \
  X(renew_csr, "renew", "renew:csr")                                 \
  X(renew_certificate, "renew", "renew:certificate")                 \
  X(renew_proof, "renew", "renew:proof")                             \
  X(renew_identity, "renew", "renew:identity")                       \
  X(renew_client_time, "renew", "renew:client-time")                 \
  X(renew_revoked, "renew", "renew:revoked")                         \
  X(renew_expired, "renew", "renew:expired")                         \
  X(renew_generation, "renew", "renew:generation")                   \
  X(renew_retired, "renew", "renew:retired")                         \
  X(renew_key_attestation, "renew", "renew:key-attestation-missing") \
  X(renew_key_attestation_ak, "renew", "renew:key-attestation-ak")   \
  X(renew_node_key_missing, "renew", "renew:node-key-missing")       \
  X(renew_node_key_malformed, "renew", "renew:node-key-malformed")   \
  X(renew_node_key_magic, "renew", "renew:node-key-magic")           \
  X(renew_node_key_type, "renew", "renew:node-key-type")             \
  X(renew_node_key_signer, "renew", "renew:node-key-signer")         \
  X(renew_node_key_binding, "renew", "renew:node-key-binding")       \
  X(renew_node_key_name, "renew", "renew:node-key-name")             \
  X(renew_node_key_signature, "renew", "renew:node-key-signature")   \
  X(renew_node_key_algorithm, "renew", "renew:node-key-algorithm")   \
  X(renew_node_key_attributes, "renew", "renew:node-key-attributes") \
  X(renew_node_key_csr, "renew", "renew:node-key-csr")               \
  X(renew_replayed, "renew", "renew:replayed")

#define BC_REFUSAL_REASONS(X)     \
  BC_JOIN_REFUSAL_REASONS(X)      \
  BC_TPM_REFUSAL_REASONS(X)       \
  BC_DISCOVERY_REFUSAL_REASONS(X) \
  BC_X509POP_REFUSAL_REASONS(X)   \
  BC_RENEW_REFUSAL_REASONS(X)

enum class refusal_reason {
#define BC_X(name, attestor, text) name,
  BC_REFUSAL_REASONS(BC_X)
#undef BC_X
};

inline constexpr std::array every_reason{
#define BC_X(name, attestor, text) refusal_reason::name,
    BC_REFUSAL_REASONS(BC_X)
#undef BC_X
};

[[nodiscard]] constexpr std::string_view text_of(refusal_reason r) noexcept {
  switch (r) {
#define BC_X(name, attestor, text) \
  case refusal_reason::name:       \
    return text;
    BC_REFUSAL_REASONS(BC_X)
#undef BC_X
  }
  return {};
}

/// nullopt: no reason of ours.
[[nodiscard]] constexpr std::optional<refusal_reason> reason_of(
    std::string_view text) noexcept {
#define BC_X(name, attestor, wire) \
  if (text == (wire))              \
    return refusal_reason::name;
  BC_REFUSAL_REASONS(BC_X)
#undef BC_X
  return std::nullopt;
}

/// The reason `<attestor>:<code>`; nullopt: no reason of ours.
[[nodiscard]] constexpr std::optional<refusal_reason> reason_of(
    std::string_view attestor, std::string_view code) noexcept {
  for (auto r : every_reason) {
    auto text = text_of(r);
    if (text.size() == attestor.size() + 1 + code.size() &&
        text.starts_with(attestor) && text[attestor.size()] == ':' &&
        text.ends_with(code))
      return r;
  }
  return std::nullopt;
}

/// The attestor an event of this reason names: `renew` of a renewal; of a
/// `join:` reason, when the caller's attestor was join-token.
[[nodiscard]] constexpr std::string_view attestor_of(
    refusal_reason r) noexcept {
  switch (r) {
#define BC_X(name, attestor, text) \
  case refusal_reason::name:       \
    return attestor;
    BC_REFUSAL_REASONS(BC_X)
#undef BC_X
  }
  return {};
}

}  // namespace bc::events
