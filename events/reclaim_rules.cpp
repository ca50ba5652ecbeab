#include "events/reclaim_rules.hpp"

#include "events/join_token.hpp"

namespace bc::events {

namespace {

using pki::certificate_role;

// Hosted or not, and who has root, is no other role: a reclaim through a hosted
// token lowers the node's trust.
certificate_role agent_of(certificate_role r) {
  return r == certificate_role::node_tenant ? certificate_role::node : r;
}

std::optional<reclaim_fault> fault_of(const node::joined& node,
                                      const join_token::created& token) {
  if (node.tenant != token.tenant)
    return reclaim_fault::tenant;
  // A token for this very node is leave enough.
  if (!token.allow_reclaim && token.node != node.id)
    return reclaim_fault::not_allowed;
  if (node.site != token.site)
    return reclaim_fault::site;
  if (node.pool != token.pool)
    return reclaim_fault::pool;
  if (agent_of(node.cert.role) !=
      agent_of(join_token::admits(token.token_role, false)))
    return reclaim_fault::role;
  return std::nullopt;
}

}  // namespace

std::string_view reclaim_fault_text(reclaim_fault f) noexcept {
  switch (f) {
    // The same words: whose node it is, is not the asker's to know.
    case reclaim_fault::tenant:
    case reclaim_fault::not_allowed:
      return "a known machine, and a token that may not take it back";
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
  const auto& token = *a.token.token;
  if (!a.known)
    // The node the token is for is some other machine's.
    return a.named && a.named->node ? std::optional{reclaim_fault::named}
                                    : std::nullopt;
  const auto& node = *a.known->node;
  if (auto fault = fault_of(node, token))
    return fault;
  if (token.node && *token.node != node.id)
    return reclaim_fault::named;
  if (node::is_reclaimed_too_often(*a.known, a.now))
    return reclaim_fault::too_often;
  return std::nullopt;
}

}  // namespace bc::events
