#include "events/reclaim_rules.hpp"

#include "events/grant.hpp"

namespace bc::events {

namespace {

using pki::certificate_role;

// Hosted or not, and who has root, is no other role: a reclaim through a hosted
// token lowers the node's trust.
certificate_role agent_of(certificate_role r) {
  return r == certificate_role::node_tenant ? certificate_role::node : r;
}

// An operating system on a machine that booted a ramdisk: the control plane's
// own word, by a token for that node.
bool is_deployed(const node::joined& node, const grant& g) {
  return g.node == node.id && g.role == certificate_role::node &&
         node.cert.role == certificate_role::ramdisk;
}

bool is_allowed(const node::joined& node, const grant& g) {
  // A grant for this very node is leave enough.
  if (g.node == node.id)
    return true;
  switch (g.reclaims) {
    case takes_back::nothing:
      return false;
    case takes_back::its_own:
      return !g.ek_hash.empty() && node.ek_hash == g.ek_hash;
    case takes_back::ramdisk:
      return node.cert.role == certificate_role::ramdisk;
    case takes_back::any_known:
      return true;
  }
  return false;
}

}  // namespace

std::optional<reclaim_fault> reclaim_fault_of(const node::joined& node,
                                              const grant& g) {
  if (node.tenant != g.tenant)
    return reclaim_fault::tenant;
  if (!node.ek_hash.empty() && node.ek_hash != g.ek_hash)
    return reclaim_fault::ek_bound;
  if (!is_allowed(node, g))
    return reclaim_fault::not_allowed;
  if (node.site != g.site)
    return reclaim_fault::site;
  if (node.pool != g.pool)
    return reclaim_fault::pool;
  if (agent_of(node.cert.role) != agent_of(g.role) && !is_deployed(node, g))
    return reclaim_fault::role;
  return std::nullopt;
}

std::string_view reclaim_fault_text(reclaim_fault f) noexcept {
  switch (f) {
    // The same words: whose node it is, is not the asker's to know.
    case reclaim_fault::tenant:
    case reclaim_fault::not_allowed:
      return "a known machine, and this may not take it back";
    case reclaim_fault::ek_bound:
      return "a machine whose node is bound to an endorsement key";
    case reclaim_fault::site:
      return "a node of another site";
    case reclaim_fault::pool:
      return "a node of another pool";
    case reclaim_fault::role:
      return "a node of another role";
    case reclaim_fault::named:
      return "a machine that is not the node the token is for";
    case reclaim_fault::too_often:
      return "the third reclaim within 10 minutes";
  }
  return {};
}

std::optional<reclaim_fault> reclaim_fault_of(const admission& a) {
  const auto& g = a.granted;
  // The TPM is one node's and the hardware another's: whose machine it is,
  // nobody can tell.
  if (a.other)
    return reclaim_fault_of(*a.other->node, g)
        .value_or(reclaim_fault::not_allowed);
  if (!a.known)
    // The node the grant is for is some other machine's.
    return a.named && a.named->node ? std::optional{reclaim_fault::named}
                                    : std::nullopt;
  const auto& node = *a.known->node;
  if (auto fault = reclaim_fault_of(node, g))
    return fault;
  if (g.node && *g.node != node.id)
    return reclaim_fault::named;
  if (node::is_reclaimed_too_often(*a.known, a.now))
    return reclaim_fault::too_often;
  return std::nullopt;
}

}  // namespace bc::events
