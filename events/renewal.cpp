#include "events/renewal.hpp"

#include <algorithm>
#include <string_view>

namespace bc::events {

namespace {

bool is_same(byte_view a, byte_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool is_of_the_node(const renewal& r) {
  return !r.client_certificate.empty() &&
         find_issued(r.node, r.client_certificate) != nullptr;
}

// The client's time is any number: what is compared with it stays in range.
bool is_in_time(const renewal& r) {
  const auto tolerance = milliseconds{client_time_tolerance}.count();
  const auto now = to_millis(r.now);
  return r.client_time_ms >= now - tolerance &&
         r.client_time_ms <= now + tolerance;
}

bool is_unrevoked(const renewal& r) {
  return !r.presented.revoked_at;
}

bool is_unexpired(const renewal& r) {
  return r.now < r.presented.cert.not_after;
}

bool is_of_the_generation(const renewal& r) {
  return r.presented.cert.generation == r.node.generation;
}

bool is_in_service(const renewal& r) {
  return r.node.current != node::status::retired;
}

bool is_certified(const renewal& r) {
  return !r.key_fault;
}

bool is_not_ours(const renewal& r) {
  return !r.names_own_key;
}

struct rule_row {
  refusal_reason reason;
  bool (*holds)(const renewal&);
};
constexpr rule_row rule_rows[] = {
    {refusal_reason::renew_identity, is_of_the_node},
    {refusal_reason::renew_client_time, is_in_time},
    {refusal_reason::renew_revoked, is_unrevoked},
    {refusal_reason::renew_expired, is_unexpired},
    {refusal_reason::renew_generation, is_of_the_generation},
    {refusal_reason::renew_retired, is_in_service},
    {refusal_reason::renew_key_attestation, is_certified},
    {refusal_reason::renew_csr, is_not_ours},
};

}  // namespace

const node::issued* find_issued(const node::state& s, byte_view der) noexcept {
  auto found = std::ranges::find_if(s.certificates, [der](const auto& i) {
    return is_same(i.cert.der, der);
  });
  return found == s.certificates.end() ? nullptr : &*found;
}

std::optional<refusal_reason> judge(const renewal& r) noexcept {
  for (const auto& row : rule_rows)
    if (!row.holds(r))
      return row.holds == is_certified ? r.key_fault : row.reason;
  return std::nullopt;
}

time_point may_renew_until(const renewal& r) noexcept {
  const auto too_late =
      from_millis(r.client_time_ms) + client_time_tolerance + milliseconds{1};
  return std::min(too_late, r.presented.cert.not_after);
}

std::optional<refusal_reason> renewal_claim_refusal(
    std::string_view claim) noexcept {
  if (claim.starts_with("proof:"))
    return refusal_reason::renew_replayed;
  if (claim.starts_with("spki:"))
    return refusal_reason::renew_csr;
  return std::nullopt;
}

}  // namespace bc::events
