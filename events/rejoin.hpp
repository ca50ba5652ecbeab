#pragma once

#include "base/clock.hpp"
#include "events/directory.hpp"
#include "events/node.hpp"
#include "events/refusal_reason.hpp"
#include "pki/certificate.hpp"

#include <optional>
#include <string_view>

/// The decision of a join by the node's own expired certificate; pure (spec:
/// ATTESTATION section 3). What two of them may race for (the challenge, the
/// new key) is judged by the journal's claims at the append: `proof:` before
/// `spki:`.
namespace bc::events {

/// Everything that it is judged by once the certificate's key was proved.
struct rejoining {
  const node::state& node;
  const node::issued& presented;  // of this node (find_issued)
  const pool::state& pool;        // version 0 for a node without one
  const site::state& site;
  pki::certificate_role asked = pki::certificate_role::node;
  std::string_view claimed_site;
  std::string_view hardware_key;  // derived from the claims; hex or empty
  bool names_own_key = false;     // the new key is one of the deployment's own
  time_point now;
  /// As renewal::key_fault.
  std::optional<refusal_reason> key_fault = std::nullopt;
};

/// The first rule that fails, in this order: the presented certificate is not
/// revoked, of the node's generation, and over for at most rejoin_window (one
/// that is not over is good too: a clock that is ahead must not strand a
/// machine); it is not a ramdisk's, and its role is the one asked for; the node
/// is not retired and its site still there and the one claimed; its pool takes
/// machines, and by this attestor; a node that is known by its hardware is on
/// it still; the new key is certified as the certificate wants it (the reason
/// is key_fault), and none of ours. nullopt: go on, until may_rejoin_until().
[[nodiscard]] std::optional<refusal_reason> judge(const rejoining& r) noexcept;

/// When that verdict is void by time alone.
[[nodiscard]] time_point may_rejoin_until(const node::issued& presented);

/// True for a verdict that rests on what can be undone: the site, the pool, the
/// node's hardware key.
[[nodiscard]] bool may_be_undone(refusal_reason r) noexcept;

/// The reason for a claim that the append found taken; nullopt for a claim of
/// another kind.
[[nodiscard]] std::optional<refusal_reason> rejoin_claim_refusal(
    std::string_view claim) noexcept;

}  // namespace bc::events
