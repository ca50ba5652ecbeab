#include "events/rejoin.hpp"

#include "base/wire_attest.hpp"

#include <algorithm>

namespace bc::events {

namespace {

bool is_unrevoked(const rejoining& r) {
  return !r.presented.revoked_at;
}

bool is_of_the_generation(const rejoining& r) {
  return r.presented.cert.generation == r.node.generation;
}

bool is_in_time(const rejoining& r) {
  return r.now <= r.presented.cert.not_after + node::rejoin_window;
}

bool fits_role(const rejoining& r) {
  const auto role = r.presented.cert.role;
  return role != pki::certificate_role::ramdisk && role == r.asked;
}

bool is_in_place(const rejoining& r) {
  if (r.node.current == node::status::retired)
    return false;
  return r.site.site && !r.site.deleted_at &&
         r.claimed_site == r.node.node->site.str();
}

bool fits_pool(const rejoining& r) {
  if (!r.node.node->pool)
    return true;
  return r.pool.pool && !r.pool.archived_at &&
         r.pool.pool->pool_agent != pool::agent::none;
}

bool fits_pool_attestor(const rejoining& r) {
  return !r.node.node->pool ||
         pool::admits_attestor(r.pool.pool->rules, wire::x509pop_attestor);
}

bool is_same_hardware(const rejoining& r) {
  const auto& known = *r.node.node;
  return !known.hardware_key_trusted || known.hardware_key == r.hardware_key;
}

// Without it, expiry would be the way to a certificate of a key outside the
// TPM.
bool is_certified(const rejoining& r) {
  return !r.key_fault;
}

bool is_not_ours(const rejoining& r) {
  return !r.names_own_key;
}

struct rule_row {
  refusal_reason reason;
  bool (*holds)(const rejoining&);
};
constexpr rule_row rule_rows[] = {
    {refusal_reason::x509pop_revoked, is_unrevoked},
    {refusal_reason::x509pop_generation, is_of_the_generation},
    {refusal_reason::x509pop_expired, is_in_time},
    {refusal_reason::x509pop_role, fits_role},
    {refusal_reason::x509pop_node, is_in_place},
    {refusal_reason::join_pool, fits_pool},
    {refusal_reason::join_pool_attestor, fits_pool_attestor},
    {refusal_reason::x509pop_hardware, is_same_hardware},
    {refusal_reason::x509pop_key_attestation, is_certified},
    {refusal_reason::join_csr, is_not_ours},
};

}  // namespace

std::optional<refusal_reason> judge(const rejoining& r) noexcept {
  for (const auto& row : rule_rows)
    if (!row.holds(r))
      return row.holds == is_certified ? r.key_fault : row.reason;
  return std::nullopt;
}

time_point may_rejoin_until(const node::issued& presented) {
  // The last moment counts.
  return presented.cert.not_after + node::rejoin_window + milliseconds{1};
}

bool may_be_undone(refusal_reason r) noexcept {
  return r == refusal_reason::x509pop_node || r == refusal_reason::join_pool ||
         r == refusal_reason::join_pool_attestor ||
         r == refusal_reason::x509pop_hardware;
}

std::optional<refusal_reason> rejoin_claim_refusal(
    std::string_view claim) noexcept {
  if (claim.starts_with("proof:"))
    return refusal_reason::x509pop_challenge_replayed;
  if (claim.starts_with("spki:"))
    return refusal_reason::join_csr;
  return std::nullopt;
}

}  // namespace bc::events
