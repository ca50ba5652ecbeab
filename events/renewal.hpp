#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "events/node.hpp"
#include "events/refusal_reason.hpp"

#include <cstdint>
#include <optional>

/// The decision of a renewal over the node's stream; pure (spec:
/// joining#renewal). What two renewals may race for (the proof, the new key) is
/// judged by the journal's claims at the append: `proof:` before `spki:`.
namespace bc::events {

/// How far the client's time may be off, either way, the limit included.
inline constexpr seconds client_time_tolerance{60};

/// The certificate whose DER this is, byte for byte, of those issued to the
/// node; null for any other, and for one so old that the node's state has
/// dropped it.
[[nodiscard]] const node::issued* find_issued(const node::state& s,
                                              byte_view der) noexcept;

/// Everything that a renewal is judged by once the current key was proved.
struct renewal {
  const node::state& node;
  const node::issued& presented;  // of this node
  byte_view client_certificate;   // DER, of the TLS connection; empty: none
  std::int64_t client_time_ms = 0;
  bool names_own_key = false;  // the new key is one of the deployment's own
  time_point now;
  /// What pki::tpm::check_renewal found against the new key: the certificate
  /// names an AK, and that AK did not certify it. nullopt: nothing.
  std::optional<refusal_reason> key_fault = std::nullopt;
};

/// The first rule that fails, in this order: the connection is the node's; the
/// client's time is right; the presented certificate is not revoked, not over
/// (at the exact second: now >= notAfter) and of the node's generation; the
/// node is not retired; the new key is certified as the certificate wants it
/// (the reason is key_fault); the new key is none of ours. nullopt: go on,
/// until may_renew_until().
[[nodiscard]] std::optional<refusal_reason> judge(const renewal& r) noexcept;

/// When that verdict is void, if nothing moves meanwhile: at the end of the
/// presented certificate, or when the client's time is over 60 s past. For a
/// renewal that judge() let through.
[[nodiscard]] time_point may_renew_until(const renewal& r) noexcept;

/// The reason for a claim that the append found taken; nullopt for a claim of
/// another kind.
[[nodiscard]] std::optional<refusal_reason> renewal_claim_refusal(
    std::string_view claim) noexcept;

}  // namespace bc::events
