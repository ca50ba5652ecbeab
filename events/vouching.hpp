#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "events/boot_lease.hpp"
#include "events/directory.hpp"
#include "events/join_token.hpp"
#include "events/node.hpp"
#include "events/refusal_reason.hpp"
#include "events/rule_verdict.hpp"
#include "pki/digest.hpp"
#include "pki/hardware_key.hpp"
#include "pki/vouch.hpp"

#include <optional>
#include <string>

/// What a site agent's vouch is judged by; pure (spec: ATTESTATION section 4).
namespace bc::events::vouching {

/// What the control plane knows of the vouch's site.
struct ground {
  const site::state& site;
  const boot_lease::state& lease;
  /// Who has the newest lease, and who had the one before it; null: none.
  const node::state* holder = nullptr;
  const node::state* previous = nullptr;
};

/// The agent that signed: of the site, by a live certificate of its node's
/// generation that the vouch names. Nobody else ever had the site's lease.
struct signer {
  node_id node;
  const node::certificate* certificate;  // in the ground
};
[[nodiscard]] std::optional<signer> find_signer(const pki::vouch::vouch& v,
                                                const ground& g,
                                                time_point now);

/// The machine that the vouch is to be about.
struct machine {
  const pki::sha256_digest& csr_sha256;
  const pki::sha256_digest& claims_sha256;
  const pki::identifiers& identifiers;
};

/// vouch-signature, -csr, -claims, by the signer's key; nullopt: vouched for.
[[nodiscard]] std::optional<refusal_reason> check_proof(
    const pki::vouch::vouch& v, const signer& s, const machine& m);

/// The signer has the lease, in the vouch's epoch.
[[nodiscard]] bool holds_lease(const pki::vouch::claims& says, const signer& s,
                               const ground& g, time_point now);

/// One of the machine's own NICs has the MAC.
[[nodiscard]] bool has_mac(const pki::vouch::claims& says, const machine& m);

/// A usable discovery token for this MAC on this site, with this secret.
[[nodiscard]] bool token_fits(const pki::vouch::claims& says,
                              const join_token::state& token,
                              const pki::sha256_digest& secret, time_point now);

/// What is kept of a vouch that was used (node::joined::proof_sha256): hex, of
/// its signer and its jti.
[[nodiscard]] std::string proof_of(const pki::vouch::vouch& v);

/// What one of the attestor's own rules compared; nullopt: it compared nothing
/// that the request does not say. `s`: once it was found.
[[nodiscard]] std::optional<rule_verdict> compared_by(
    refusal_reason reason, const pki::vouch::claims& says, const ground& g,
    const std::optional<signer>& s, const machine& m, time_point now);

}  // namespace bc::events::vouching
