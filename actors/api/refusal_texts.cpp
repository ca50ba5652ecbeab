#include "actors/api/refusal_texts.hpp"

#include "actors/api/refusal_words_discovery.hpp"
#include "actors/api/refusal_words_tpm.hpp"

#include <algorithm>

namespace bc::actors::api {

namespace {

constexpr words texts_of(events::refusal_reason r) noexcept {
  using enum events::refusal_reason;
  switch (r) {
    case token_malformed:
      return {"What was sealed is no join token.",
              "Give the machine the whole text of a token (bcjt_…), from the "
              "file that join-tokens create --out wrote."};
    case token_unknown:
      return {"No token has this id.",
              "Check that the machine joins the deployment that made its "
              "token; else create a token and hand it out."};
    case token_secret_mismatch:
      return {"The token's id is known, its secret is another.",
              "If a copy was cut or altered, hand the token out again. If many "
              "come, somebody guesses: revoke the token."};
    case token_revoked:
      return {"The token was revoked.", "Create a new token."};
    case token_expired:
      return {"The token's time was over.",
              "Create a new token, with a --ttl that covers the install."};
    case token_exhausted:
      return {"Every use of the token was spent.",
              "Create a new token; for several machines with --max-uses. If "
              "you do not know who spent it, look at node.joined events."};
    case token_role_mismatch:
      return {"The agent asked for a role that the token does not admit.",
              "Use a token made for this kind of agent: join-tokens create for "
              "bcd node, site-tokens create for bcd site, --hosted for a "
              "cluster's machines."};
    case join_token:
      return {
          "The seal around the token was missing, made for another CSR or "
          "with another key, or its time was more than a day off.",
          "Compare join_encryption_key_pin in the machine's config.toml "
          "with pki show, and the machine's clock; after a rotation run "
          "the install script again."};
    case join_csr:
      return {
          "The certificate request was not sound, or its key is held "
          "already.",
          "Let the machine make a new key: bcd join --reset --yes. A "
          "cloned disk brings its key along."};
    case join_expect:
      return {
          "The machine is not the one the token was made for; or it joins "
          "by its TPM, and is not the node that it says it is.",
          "Compare the identifiers: correct --expect-… in a new token, or "
          "use this token on its own machine. With a TPM, after its node "
          "was deleted: bcd join --reset --yes."};
    case join_placeholder:
      return {
          "The firmware names no identifiers that tell this machine from "
          "others.",
          "Create a token with an --expect-… for it, or set real serials "
          "in the firmware."};
    case join_reclaim:
      return {
          "The hardware, or the TPM, belongs to a node that this join may not "
          "take over.",
          "For a reinstall create a token with --allow-reclaim in the "
          "node's own pool, or join by the TPM that the node is bound to; for "
          "a new start cordon the old node and delete it first."};
    case join_pool:
      return {"The pool is gone or archived, or its machines run no daemon.",
              "Create a token for a pool whose agent is bcd; of a TPM or a "
              "vouch, correct the pool in the server's [attestors]."};
    case join_tenant:
      return {"The pool is not the token's tenant's.",
              "Create a token in the tenant that owns the pool."};
    case join_site:
      return {
          "The machine's configured site is not the token's, or that site "
          "is gone.",
          "Compare site in the machine's config.toml with the pool's "
          "siteId; run the install script of the right site."};
    case join_pool_attestor:
      return {"The pool's policy does not let machines join in this way.",
              "Join with an attestor that policy.joinAttestors lists, or add "
              "the refusal's attestor to it."};
    case join_attestor:
      return {"The daemon named an attestor that this server does not have.",
              "Join with a token, enable it in the server's [attestors], or "
              "upgrade the server."};
    case x509pop_malformed:
      return {"There was no certificate, or what was sent as one is none.",
              "Look for a program of another make, or for a gateway that "
              "alters what it relays."};
    case x509pop_challenge_unknown:
      return {
          "The challenge was not one of this deployment, or its key was "
          "retired meanwhile.",
          "bcd asks for another one by itself; look for a gateway that relays "
          "to the wrong deployment."};
    case x509pop_challenge_expired:
      return {"The challenge was answered after its two minutes.",
              "bcd asks for another one by itself. If many come, look at the "
              "time between gateway and server, and at the servers' clocks."};
    case x509pop_challenge_replayed:
      return {"The same challenge was answered before.",
              "Look for who repeats what a gateway relays; the node is not "
              "touched by it."};
    case x509pop_unknown_certificate:
      return {
          "The certificate presented is none that the node could still come "
          "back by.",
          "Check that the machine belongs to this deployment and was not set "
          "back to an old copy; else let it join again: bcd join --reset "
          "--yes."};
    case x509pop_pop:
      return {
          "The caller did not prove that it holds the expired certificate's "
          "key.",
          "Look for a program of another make, or for a gateway that "
          "alters what it relays."};
    case x509pop_revoked:
      return {"The certificate presented was revoked, perhaps after its end.",
              "If the machine is to come back, let it join again with a token "
              "that allows a reclaim: bcd join --reset --yes."};
    case x509pop_generation:
      return {
          "The node was joined anew since the certificate was issued: by this "
          "machine, or by a copy of it.",
          "If it was a copy, revoke the node's identity; then let the right "
          "machine join again with a token that allows a reclaim: bcd join "
          "--reset --yes."};
    case x509pop_expired:
      return {"The certificate presented was over for more than seven days.",
              "Let the machine join again with a token that allows a reclaim: "
              "bcd join --reset --yes."};
    case x509pop_role:
      return {
          "The certificate is a ramdisk's, or another role was asked for than "
          "it has.",
          "A ramdisk is booted again; a machine that is to do something else "
          "joins with a token."};
    case x509pop_node:
      return {"The node was deleted, or the machine names another site.",
              "Compare site in the machine's config.toml with the node's; a "
              "deleted node's machine joins as a new one: bcd join --reset "
              "--yes."};
    case x509pop_hardware:
      return {
          "The machine is not the hardware that the node is on: a copied key "
          "or disk, or a part that was replaced.",
          "If it is the node's own machine, let it join again with a token "
          "that allows a reclaim; else revoke the node's identity."};
    case x509pop_key_attestation:
      return {
          "The expired certificate names a TPM, and nothing proved the new "
          "key to be in it.",
          "Restore the machine's access to its TPM, or let it join again: "
          "bcd join --reset --yes."};
    case renew_csr:
      return {
          "The request for a new certificate was not sound, or its key is "
          "held already.",
          "bcd makes a new key for each renewal: look for a program of "
          "another make, or for a cloned disk."};
    case renew_certificate:
      return {
          "The certificate presented is none that was issued to the node.",
          "Check that the machine renews at the deployment it joined; after "
          "a node was reclaimed or deleted let it join again: bcd join "
          "--reset --yes."};
    case renew_proof:
      return {"The caller did not prove that it holds the certificate's key.",
              "Look for a program of another make, or for a gateway that "
              "alters what it relays."};
    case renew_identity:
      return {
          "The connection was not the node's own.",
          "Connect to the gateway with the node's certificate. If many come, "
          "a node's key was copied: revoke its identity."};
    case renew_client_time:
      return {"The machine's clock was more than 60 s off.",
              "Set its clock; bcd corrects itself by the signed time of the "
              "refusal and tries once more."};
    case renew_revoked:
      return {"The certificate presented was revoked.",
              "Let the machine join again with a token that allows a "
              "reclaim: bcd join --reset --yes."};
    case renew_expired:
      return {"The certificate presented was over.",
              "Let the machine join again: bcd join --reset --yes."};
    case renew_generation:
      return {"The node was joined anew since the certificate was issued.",
              "If this machine is the right one, let it join again with a "
              "token that allows a reclaim: bcd join --reset --yes."};
    case renew_retired:
      return {"The node was deleted.",
              "Let the machine join as a new node: bcd join --reset --yes."};
    case renew_key_attestation:
      return {
          "The certificate names a TPM, and nothing proved the new key to "
          "be in it.",
          "Restore the machine's access to its TPM, or let it join again: "
          "bcd join --reset --yes."};
    case renew_replayed:
      return {"The same proof was used before.",
              "Look for who repeats what a gateway relays; the node is not "
              "touched by it."};
    default:
      break;
  }
  const auto of_tpm = tpm_words_of(r);
  return of_tpm.meaning.empty() ? discovery_words_of(r) : of_tpm;
}

// A reason without words does not compile.
static_assert(std::ranges::none_of(events::every_reason, [](auto r) {
  return texts_of(r).meaning.empty() || texts_of(r).advice.empty();
}));

}  // namespace

std::string_view meaning_of(events::refusal_reason r) noexcept {
  return texts_of(r).meaning;
}

std::string_view advice_on(events::refusal_reason r) noexcept {
  return texts_of(r).advice;
}

}  // namespace bc::actors::api
