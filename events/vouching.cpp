#include "events/vouching.hpp"

#include "base/encoding.hpp"
#include "events/node_sessions.hpp"

#include <algorithm>
#include <utility>

namespace bc::events::vouching {

namespace {

std::optional<signer> signer_among(const node::state* agent,
                                   const pki::vouch::vouch& v, time_point now) {
  if (agent == nullptr || !agent->node || agent->node->site != v.says.site)
    return std::nullopt;
  for (const auto& one : agent->certificates) {
    if (one.cert.role != pki::certificate_role::site ||
        pki::sha256(one.cert.der) != v.certificate)
      continue;
    if (const auto* live = node::session_certificate(*agent, one.cert.der, now))
      return signer{agent->node->id, live};
  }
  return std::nullopt;
}

bool key_signed(const pki::vouch::vouch& v, const node::certificate& by) {
  auto leaf = pki::parse_certificate(by.der);
  return leaf && pki::vouch::is_signed_by(v, leaf.value().key);
}

std::string lease_text(const boot_lease::acquired* live) {
  return live == nullptr ? "a lease that is free"
                         : "the lease of " + live->holder.str() + ", epoch " +
                               std::to_string(live->epoch);
}

std::string list_text(const std::vector<std::string>& all) {
  std::string out;
  for (const auto& one : all)
    out.append(out.empty() ? "mac " : ", mac ").append(one);
  return out.empty() ? "no MAC of a NIC's own" : out;
}

}  // namespace

std::optional<signer> find_signer(const pki::vouch::vouch& v, const ground& g,
                                  time_point now) {
  if (!g.site.site || g.site.deleted_at)
    return std::nullopt;
  auto found = signer_among(g.holder, v, now);
  return found ? found : signer_among(g.previous, v, now);
}

std::optional<refusal_reason> check_proof(const pki::vouch::vouch& v,
                                          const signer& s, const machine& m) {
  if (!key_signed(v, *s.certificate))
    return refusal_reason::discovery_vouch_signature;
  if (v.says.csr_sha256 != m.csr_sha256)
    return refusal_reason::discovery_vouch_csr;
  if (v.says.claims_sha256 != m.claims_sha256)
    return refusal_reason::discovery_vouch_claims;
  return std::nullopt;
}

bool holds_lease(const pki::vouch::claims& says, const signer& s,
                 const ground& g, time_point now) {
  const auto* live = live_lease(g.lease, now);
  return live != nullptr && live->holder == s.node &&
         live->epoch == says.boot_lease_epoch;
}

bool has_mac(const pki::vouch::claims& says, const machine& m) {
  return std::ranges::find(m.identifiers.macs, says.mac) !=
         m.identifiers.macs.end();
}

bool token_fits(const pki::vouch::claims& says, const join_token::state& token,
                const pki::sha256_digest& secret, time_point now) {
  if (join_token::check_secret(token, secret) ||
      join_token::check_usable(token, pki::certificate_role::ramdisk, now))
    return false;
  const auto& t = *token.token;
  return t.token_role == join_token::role::discovery && t.site == says.site &&
         t.expect.mac == says.mac;
}

std::string proof_of(const pki::vouch::vouch& v) {
  pki::field_hash out;
  out.add("bc-vouch").add(v.certificate).add(v.says.jti);
  return to_hex(std::move(out).finish());
}

std::optional<rule_verdict> compared_by(refusal_reason reason,
                                        const pki::vouch::claims& says,
                                        const ground& g,
                                        const std::optional<signer>& s,
                                        const machine& m, time_point now) {
  rule_verdict out{std::string{text_of(reason)}, verdict::failed};
  switch (reason) {
    case refusal_reason::discovery_lease:
      out.expected = lease_text(live_lease(g.lease, now));
      out.presented = (s ? s->node.str() : "an agent") + ", epoch " +
                      std::to_string(says.boot_lease_epoch);
      return out;
    case refusal_reason::discovery_mac:
      out.expected = "mac " + says.mac + ", as the site agent saw it";
      out.presented = list_text(m.identifiers.macs);
      return out;
    case refusal_reason::discovery_token:
      out.expected =
          "a discovery token for mac " + says.mac + " on " + says.site.str();
      out.presented = "a token that is none";
      return out;
    case refusal_reason::discovery_workflow:
      out.expected = "a workflow that waits for a ramdisk";
      out.presented = "workflow " + says.workflow.value_or("");
      return out;
    default:
      return std::nullopt;
  }
}

}  // namespace bc::events::vouching
