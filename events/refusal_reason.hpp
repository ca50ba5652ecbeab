#pragma once

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
  X(x509pop_key_attestation, "x509pop", "x509pop:key-attestation-missing")

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
  X(renew_replayed, "renew", "renew:replayed")

#define BC_REFUSAL_REASONS(X)   \
  BC_JOIN_REFUSAL_REASONS(X)    \
  BC_X509POP_REFUSAL_REASONS(X) \
  BC_RENEW_REFUSAL_REASONS(X)

enum class refusal_reason {
#define BC_X(name, attestor, text) name,
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
