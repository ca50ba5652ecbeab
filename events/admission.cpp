#include "events/admission.hpp"

namespace bc::events {

namespace {

bool is_placeholder(const pki::hardware_key& key) {
  return key.hex.empty() || !key.trusted || key.only_components;
}

bool pool_takes(const pool::state& s, const join_token::created& token) {
  return s.pool && s.pool->id == token.pool &&
         s.pool->pool_agent != pool::agent::none;
}

bool site_fits(const admission& a) {
  const auto& token = *a.token.token;
  return a.site.site && a.site.site->id == token.site &&
         a.pool.pool->site == token.site && a.claimed_site == token.site.str();
}

}  // namespace

std::optional<refusal_reason> judge(const admission& a) {
  if (!a.token.token)
    return refusal_reason::token_unknown;
  const auto& token = *a.token.token;
  if (!token.expect.empty() && !pki::matches(token.expect, a.claims))
    return refusal_reason::join_expect;
  if (token.expect.empty() && is_placeholder(a.key))
    return refusal_reason::join_placeholder;
  // A machine we know may come back only by a reclaim, which is not served: it
  // is refused rather than made a second node.
  if (a.hardware_holder && a.key.trusted)
    return refusal_reason::join_reclaim;
  if (!pool_takes(a.pool, token))
    return refusal_reason::join_pool;
  if (!a.tenant.tenant || a.pool.pool->tenant != token.tenant)
    return refusal_reason::join_tenant;
  if (!site_fits(a))
    return refusal_reason::join_site;
  return std::nullopt;
}

}  // namespace bc::events
