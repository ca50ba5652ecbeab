#pragma once

#include "actors/api/refusal_words.hpp"
#include "events/refusal_reason.hpp"

/// Private to refusal_texts.cpp: the words of what a TPM proves, in joins,
/// renewals and rejoins. Empty for any other reason.
namespace bc::actors::api {

// A node key's certification is judged by one function, whoever sent it.
#define BC_NODE_KEY_WORDS(name, what, advice)                          \
  case tpm_node_key_##name:                                            \
    return {what ".", advice};                                         \
  case x509pop_node_key_##name:                                        \
    return {what " (of a return by an expired certificate).", advice}; \
  case renew_node_key_##name:                                          \
    return {what " (of a renewal).", advice};

constexpr words node_key_words_of(events::refusal_reason r) noexcept {
  constexpr std::string_view other_make =
      "Look for a program of another make, or for a gateway that alters what "
      "it relays.";
  constexpr std::string_view attack =
      "bcd never sends this. If its binary is sound, somebody tries to pass a "
      "key for one of a TPM: look at the machine.";
  using enum events::refusal_reason;
  switch (r) {
    BC_NODE_KEY_WORDS(missing,
                      "The TPM's word on the new key was missing, or a part "
                      "of it",
                      "Run bcd doctor on the machine; where its keys cannot be "
                      "in a TPM, the server needs require_certified_key = "
                      "false.")
    BC_NODE_KEY_WORDS(malformed,
                      "The TPM's word on the new key could not be read",
                      other_make)
    BC_NODE_KEY_WORDS(
        magic, "What was signed for the new key was not made by a TPM", attack)
    BC_NODE_KEY_WORDS(type,
                      "What the TPM signed for the new key is something else "
                      "than a certification",
                      attack)
    BC_NODE_KEY_WORDS(signer,
                      "The key that certified the new key is no lasting "
                      "primary key of its TPM",
                      "Let bcd derive its own AK: remove another program's "
                      "keys from its configuration.")
    BC_NODE_KEY_WORDS(binding, "The new key was certified for another request",
                      "bcd asks again by itself. If many come, look for a "
                      "gateway that swaps requests.")
    BC_NODE_KEY_WORDS(name, "The TPM certified another key than the new one",
                      attack)
    BC_NODE_KEY_WORDS(signature,
                      "The certification of the new key is not signed by the "
                      "AK that was named",
                      attack)
    BC_NODE_KEY_WORDS(algorithm,
                      "The new key is in a TPM, but not of the kind that nodes "
                      "have (ECDSA on P-256)",
                      other_make)
    BC_NODE_KEY_WORDS(attributes,
                      "The new key may leave its TPM, or was made outside of "
                      "it",
                      attack)
    BC_NODE_KEY_WORDS(csr,
                      "The certified key is not the one that the request is "
                      "for",
                      other_make)
    default:
      return {};
  }
}
#undef BC_NODE_KEY_WORDS

constexpr words tpm_words_of(events::refusal_reason r) noexcept {
  using enum events::refusal_reason;
  switch (r) {
    case tpm_malformed:
      return {"What was sent as the TPM's keys, certificates or proofs is not.",
              "Look for a program of another make, or for a gateway that "
              "alters what it relays."};
    case tpm_role:
      return {"A TPM joins nodes only, and another role was asked for.",
              "Join a site agent with a site token; a ramdisk is vouched for "
              "by its site agent."};
    case tpm_challenge_unknown:
      return {
          "The challenge was not one of this deployment, or its key was "
          "retired before the TPM answered.",
          "bcd asks for another one by itself; look for a gateway that relays "
          "to the wrong deployment."};
    case tpm_challenge_expired:
      return {"The TPM's answer to the challenge came after its two minutes.",
              "bcd asks for another one by itself. If many come, look at the "
              "time between gateway and server, at slow TPMs and at the "
              "servers' clocks."};
    case tpm_challenge_replayed:
      return {"The challenge of this TPM was answered before.",
              "Look for who repeats what a gateway relays; nothing was spent "
              "by it."};
    case tpm_ek_template:
      return {
          "The endorsement key is none that can prove a TPM: of another kind, "
          "or one that may leave it.",
          "Run bcd doctor on the machine. RSA-2048, RSA-3072, P-256 and P-384 "
          "by the TCG's templates are accepted."};
    case tpm_ek_cert_key:
      return {"The endorsement certificate is of another key.",
              "A certificate of another TPM proves nothing: if the board's "
              "TPM was changed, let bcd join without the certificate."};
    case tpm_ek_denied:
      return {
          "The TPM, or the issuer of its certificate, is on the list of "
          "those denied.",
          "If the machine is to be let in, take it out of [attestors.tpm] "
          "deny."};
    case tpm_ek_cert_malformed:
      return {
          "The endorsement certificate could not be read, and a verified "
          "one is required.",
          "Give the machine's EK by its hash in [attestors.tpm] allow and "
          "set require_ek_cert = false, or replace the certificate."};
    case tpm_ek_cert_profile:
      return {
          "The endorsement certificate is not made for a TPM's key, and a "
          "verified one is required.",
          "Look at its usages and its CA flag; give the machine's EK by "
          "its hash in [attestors.tpm] allow and set require_ek_cert = "
          "false."};
    case tpm_ek_cert_chain:
      return {
          "The endorsement certificate leads to no root that is "
          "configured, and a verified one is required.",
          "Put the manufacturer's root into [attestors.tpm] ek_roots, and "
          "its intermediates into ek_intermediates."};
    case tpm_ek_cert_expired:
      return {
          "The endorsement certificate, or one above it, is over, and a "
          "verified one is required.",
          "Put the manufacturer's newer certificates into [attestors.tpm] "
          "ek_roots and ek_intermediates; look at the server's clock."};
    case tpm_ek_cert_required:
      return {"The TPM showed no endorsement certificate, and one is required.",
              "Many firmware TPMs have none: let the machine in by its EK's "
              "hash, with require_ek_cert = false."};
    case tpm_ak_algorithm:
      return {"The attestation key is of a kind or a hash that is not trusted.",
              "Look for a program of another make: bcd's is ECDSA on P-256."};
    case tpm_ak_attributes:
      return {
          "The attestation key signs whatever it is given, or may leave "
          "its TPM.",
          "bcd never makes one. If its binary is sound, somebody tries to "
          "forge a TPM's word: look at the machine."};
    case tpm_activation:
      return {
          "The caller did not open the challenge: it does not have the TPM "
          "that it named.",
          "Look for a gateway that swaps what it relays, or for a program "
          "of another make."};
    case tpm_ek_unknown:
      return {"The TPM is sound, and nobody has said that it may join.",
              "Add its EK hash to [attestors.tpm] allow, or set enrollment = "
              "true and approve its request."};
    case tpm_ek_request_rejected:
      return {"A person rejected the join request of this TPM.",
              "If it was a mistake, let the machine join again with a new key "
              "and approve that request: bcd join --reset --yes."};
    case tpm_ek_bound:
      return {"The hardware is a node that is bound to another TPM.",
              "If the board or its TPM was changed, delete the old node "
              "first; if not, one of the two machines copies the other."};
    case tpm_enrollment_full:
      return {
          "Too many TPMs without a verified certificate wait for approval "
          "at this site.",
          "Approve or reject what join-requests list shows; "
          "[attestors.tpm] pending_places is the limit."};
    case x509pop_key_attestation_ak:
      return {
          "The new key was certified by another AK than the expired "
          "certificate names.",
          "A cleared TPM has another AK: let the machine join again with its "
          "TPM: bcd join --reset --yes."};
    case renew_key_attestation_ak:
      return {
          "The new key was certified by another AK than the certificate names.",
          "A cleared TPM has another AK: let the machine join again with its "
          "TPM: bcd join --reset --yes."};
    default:
      return node_key_words_of(r);
  }
}

}  // namespace bc::actors::api
