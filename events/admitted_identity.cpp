#include "events/admission.hpp"

#include <algorithm>

// Trust and certificate role of an admitted machine: the token and the site
// decide, never the machine's claims (spec: joining#creating-a-token).
namespace bc::events {

namespace {

using node::trust;
using pki::certificate_role;

// Platform kinds of sites are the root tenant's to make; one that another
// tenant owns is its own hardware, whatever it is called.
bool is_platform_site(const admission& a) {
  const auto& s = *a.site.site;
  return site::is_platform(s) && s.owner == a.root;
}

// A pool's owner vouches for the cluster; only the platform may, on its own
// site.
bool platform_operates(const admission& a) {
  const auto& token = *a.token.token;
  return token.pool && is_platform_site(a) &&
         a.pool.pool->rules.platform_operated && a.pool.pool->tenant == a.root;
}

bool is_lowered(const admission& a) {
  return a.token.token->hosted && !platform_operates(a);
}

trust trust_by_token(const admission& a) {
  if (!is_platform_site(a))
    return trust::tenant_owned;
  return is_lowered(a) ? trust::tenant_controlled : trust::platform;
}

// Hosted machines get the lesser certificate, on a tenant's own site too, and
// also those that a deploy installed.
certificate_role role_by_token(const admission& a) {
  const auto role = join_token::admits(a.token.token->token_role, false);
  return role == certificate_role::node && is_lowered(a)
             ? certificate_role::node_tenant
             : role;
}

bool shares_a_mac(const pki::identifiers& before, const pki::identifiers& now) {
  return std::any_of(now.macs.begin(), now.macs.end(), [&](const auto& mac) {
    return std::binary_search(before.macs.begin(), before.macs.end(), mac);
  });
}

bool has_other_macs(const wire::claims& before,
                    const pki::hardware_claims& now) {
  const auto old = pki::normalise(hardware_of(before));
  const auto fresh = pki::normalise(now);
  return !old.macs.empty() && !fresh.macs.empty() && !shares_a_mac(old, fresh);
}

}  // namespace

admitted_identity identity_of(const admission& a) {
  admitted_identity out;
  out.trust = trust_by_token(a);
  out.role = role_by_token(a);
  out.acceptance =
      a.token.token->pool && !a.pool.pool->rules.acceptance_checks.empty();
  if (!a.known)
    return out;
  const auto& node = *a.known->node;
  out.trust = std::max(out.trust, node.node_trust);
  if (node.cert.role == certificate_role::node_tenant)
    out.role = certificate_role::node_tenant;
  out.hardware_changed = has_other_macs(node.claims, a.claims);
  return out;
}

}  // namespace bc::events
