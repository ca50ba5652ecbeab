#include "events/admission.hpp"
#include "events/node_inventory.hpp"
#include "pki/identifier_hash.hpp"

#include <algorithm>

// Trust and certificate role of an admitted machine: the grant and the site
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
  return a.granted.pool && is_platform_site(a) &&
         a.pool.pool->rules.platform_operated && a.pool.pool->tenant == a.root;
}

bool is_lowered(const admission& a) {
  return a.granted.hosted && !platform_operates(a);
}

trust trust_by_grant(const admission& a) {
  if (!is_platform_site(a))
    return trust::tenant_owned;
  return is_lowered(a) ? trust::tenant_controlled : trust::platform;
}

// Hosted machines get the lesser certificate, on a tenant's own site too, and
// also those that a deploy installed.
certificate_role role_by_grant(const admission& a) {
  return a.granted.role == certificate_role::node && is_lowered(a)
             ? certificate_role::node_tenant
             : a.granted.role;
}

bool shares_a_mac(const pki::identifiers& before, const pki::identifiers& now) {
  return std::any_of(now.macs.begin(), now.macs.end(), [&](const auto& mac) {
    return std::binary_search(before.macs.begin(), before.macs.end(), mac);
  });
}

bool has_other_macs(const pki::identifiers& before,
                    const pki::identifiers& now) {
  return !before.macs.empty() && !now.macs.empty() &&
         !shares_a_mac(before, now);
}

// Known by its EK alone.
bool has_other_key(const node::joined& before, const pki::hardware_key& now) {
  return before.hardware_key_trusted && now.names_a_machine() &&
         before.hardware_key != now.hex;
}

}  // namespace

admitted_identity identity_of(const admission& a) {
  admitted_identity out;
  out.trust = trust_by_grant(a);
  out.role = role_by_grant(a);
  out.acceptance =
      a.granted.pool && !a.pool.pool->rules.acceptance_checks.empty();
  if (!a.known)
    return out;
  const auto& node = *a.known->node;
  out.trust = std::max(out.trust, node.node_trust);
  if (node.cert.role == certificate_role::node_tenant)
    out.role = certificate_role::node_tenant;
  // Both without what is shared, else it would always be another one.
  static const pki::shared_uuids nothing;
  const auto& shared = a.shared ? *a.shared : nothing;
  const auto before =
      pki::normalise(pki::without_shared(hardware_of(node.claims), shared));
  const auto now = pki::normalise(a.claims);
  out.hardware_changed =
      has_other_macs(before, now) || has_other_key(node, a.key);
  out.changed_identifiers = pki::changed_kinds(
      node::known_identifiers(*a.known, shared), pki::hashes_of(now));
  return out;
}

}  // namespace bc::events
