#include "actors/api/refusal_texts.hpp"

namespace bc::actors::api {

namespace {

struct texts {
  std::string_view meaning;
  std::string_view advice;
};

// A switch without default: a reason without words does not compile.
constexpr texts texts_of(events::refusal_reason r) noexcept {
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
      return {"The machine is not the one the token was made for.",
              "Compare the identifiers: correct --expect-… in a new token, or "
              "use this token on its own machine."};
    case join_placeholder:
      return {
          "The firmware names no identifiers that tell this machine from "
          "others.",
          "Create a token with an --expect-… for it, or set real serials "
          "in the firmware."};
    case join_reclaim:
      return {
          "The hardware belongs to a node that this token may not take "
          "over.",
          "For a reinstall create a token with --allow-reclaim in the "
          "node's own pool; for a new start cordon the old node and delete "
          "it first."};
    case join_pool:
      return {"The pool is gone or archived, or its machines run no daemon.",
              "Create a token for a pool whose agent is bcd."};
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
      return {"The pool's policy does not let machines join with a token.",
              "Join with an attestor that policy.joinAttestors lists, or add "
              "join-token to it."};
    case join_attestor:
      return {"The daemon named an attestor that this server does not have.",
              "Join with a token, or upgrade the server."};
  }
  return {};
}

}  // namespace

std::string_view meaning_of(events::refusal_reason r) noexcept {
  return texts_of(r).meaning;
}

std::string_view advice_on(events::refusal_reason r) noexcept {
  return texts_of(r).advice;
}

}  // namespace bc::actors::api
