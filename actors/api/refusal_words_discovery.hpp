#pragma once

#include "actors/api/refusal_words.hpp"
#include "events/refusal_reason.hpp"

/// Private to refusal_texts.cpp: the words of joins by a site agent's vouch.
/// Empty for any other reason.
namespace bc::actors::api {

constexpr words discovery_words_of(events::refusal_reason r) noexcept {
  using enum events::refusal_reason;
  switch (r) {
    case discovery_role:
      return {"A vouch admits ramdisks only, and another role was asked for.",
              "Join an installed machine with a token or with its TPM."};
    case discovery_vouch_missing:
      return {"There was no site agent's vouch.",
              "Give the ramdisk the address of its site agent: bcd join "
              "--site-agent."};
    case discovery_vouch_malformed:
      return {"What was sent as a vouch is none.",
              "Look for a site agent of another make, or for a gateway that "
              "alters what it relays."};
    case discovery_vouch_expired:
      return {"The vouch was over, or is from the future.",
              "The ramdisk fetches another one by itself. If many come, "
              "compare the clocks of site agent and server."};
    case discovery_vouch_replayed:
      return {"The vouch was used before.",
              "Look for who repeats what a gateway relays; nothing was spent "
              "by it."};
    case discovery_vouch_signer:
      return {
          "The vouch is not by a site agent of the ramdisk's site, or by "
          "one whose certificate is over, revoked or replaced.",
          "Look at the site agent with nodes get, and at its log."};
    case discovery_vouch_signature:
      return {"The vouch is not signed by the site agent that it names.",
              "Look for somebody on the site's network who forges vouches."};
    case discovery_vouch_csr:
      return {"The vouch is for another request.",
              "Look for somebody on the site's network who passes another "
              "machine's vouch."};
    case discovery_vouch_claims:
      return {"The vouch is for other claims than the request makes.",
              "Look for a gateway that alters what it relays."};
    case discovery_lease:
      return {
          "The site agent that vouched does not hold the site's boot "
          "lease.",
          "The ramdisk asks another agent by itself. If it stays so, look "
          "at the site agents' logs: they contend for the lease."};
    case discovery_mac:
      return {
          "The MAC address that was vouched for is none of the machine's "
          "permanent ones.",
          "Let the machine boot by a network card of its own, not by one "
          "on USB or with an address that was set."};
    case discovery_token:
      return {
          "The token of the boot is not one for this MAC address at this "
          "site, or admits nobody any more.",
          "Start the boot again, or wait for an approval without a "
          "token."};
    case discovery_workflow:
      return {"The boot belongs to a workflow that does not wait for it.",
              "Start the workflow again."};
    case discovery_rejected:
      return {"A person rejected the join request of this ramdisk.",
              "If it was a mistake, boot it again and approve that request."};
    case discovery_enrollment_full:
      return {"Too many ramdisks wait for approval at this site.",
              "Approve or reject what join-requests list shows; "
              "[attestors.discovery] pending_places is the limit."};
    default:
      return {};
  }
}

}  // namespace bc::actors::api
