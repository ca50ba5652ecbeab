#include "events/join_token.hpp"

#include "base/encoding.hpp"
#include "events/bearer.hpp"

namespace bc::events::join_token {

namespace {

using pki::certificate_role;

state& apply(state& s, const created& c) {
  if (!s.token) {
    s.token = c;
    s.uses_left = c.max_uses;
  }
  return s;
}

state& apply(state& s, const redeemed&) {
  if (s.uses_left > 0)
    --s.uses_left;
  return s;
}

state& apply(state& s, const revoked& r) {
  if (s.token && !s.revoked_at)
    s.revoked_at = r.at;
  return s;
}

// A retry may come with another lifetime or count: the first one stands. A
// pool's token is on the pool's site, which the retry does not name.
bool is_retry_of(const created& old, const created& asked) {
  return old.tenant == asked.tenant && old.token_role == asked.token_role &&
         old.pool == asked.pool &&
         (old.token_role != role::site || old.site == asked.site) &&
         old.expect == asked.expect &&
         old.allow_reclaim == asked.allow_reclaim &&
         old.hosted == asked.hosted && old.node == asked.node;
}

bool is_of(const created& token, const revoke& c) {
  if (token.tenant != c.tenant)
    return false;
  if (c.site)
    return token.token_role == role::site && token.site == *c.site;
  return c.pool && token.pool == c.pool;
}

bool admits_ask(const created& token, certificate_role asked) {
  const bool hosted = token.hosted.has_value();
  return asked == admits(token.token_role, hosted) ||
         (hosted && asked == admits(token.token_role, false));
}

}  // namespace

std::string_view role_text(role r) noexcept {
  switch (r) {
    case role::node:
      return "node";
    case role::site:
      return "site";
    case role::provisioned:
      return "provisioned";
    case role::discovery:
      return "discovery";
  }
  return {};
}

certificate_role admits(role r, bool hosted) noexcept {
  switch (r) {
    case role::node:
      return hosted ? certificate_role::node_tenant : certificate_role::node;
    case role::site:
      return certificate_role::site;
    case role::provisioned:
      return certificate_role::node;
    case role::discovery:
      return certificate_role::ramdisk;
  }
  return certificate_role::node;
}

std::optional<role> parse_role(std::string_view text) noexcept {
  for (auto r : {role::node, role::site, role::provisioned, role::discovery})
    if (role_text(r) == text)
      return r;
  return std::nullopt;
}

state evolve(state s, const event& e) {
  ++s.version;
  std::visit([&s](const auto& what) { apply(s, what); }, e);
  return s;
}

result<std::vector<event>> decide(const state& s, const create& c) {
  if (!s.token)
    return std::vector<event>{c.token};
  if (is_retry_of(*s.token, c.token))
    return std::vector<event>{};
  if (s.token->token_role == role::site)
    return fail(errc::conflict,
                "This idempotency key made a site token for another site");
  return fail(errc::conflict,
              "This idempotency key made a join token with another pool, "
              "expect, allowReclaim or hosted");
}

result<std::vector<event>> decide(const state& s, const revoke& c) {
  if (!s.token || !is_of(*s.token, c))
    return fail(errc::not_found, c.site ? "No such site token on this site"
                                        : "No such join token in this pool");
  if (s.revoked_at)
    return std::vector<event>{};
  return std::vector<event>{revoked{s.token->id, s.token->pool, c.now, c.site}};
}

std::optional<refusal_reason> check_secret(
    const state& s, const pki::sha256_digest& presented) {
  if (!s.token)
    return refusal_reason::token_unknown;
  auto digest = to_hex(presented);
  if (!equal_in_constant_time(as_bytes(s.token->secret_sha256),
                              as_bytes(digest)))
    return refusal_reason::token_secret_mismatch;
  return std::nullopt;
}

std::optional<refusal_reason> check_usable(const state& s,
                                           certificate_role asked,
                                           time_point now) {
  if (!s.token)
    return refusal_reason::token_unknown;
  if (s.revoked_at)
    return refusal_reason::token_revoked;
  if (now >= s.token->expires_at)
    return refusal_reason::token_expired;
  if (s.uses_left <= 0)
    return refusal_reason::token_exhausted;
  if (!admits_ask(*s.token, asked))
    return refusal_reason::token_role_mismatch;
  return std::nullopt;
}

std::optional<bearer> parse_bearer(std::string_view text) {
  constexpr std::string_view prefix = "bcjt_";
  if (text.substr(0, prefix.size()) != prefix)
    return std::nullopt;
  auto parts = split_bearer(text.substr(prefix.size()));
  if (!parts)
    return std::nullopt;
  auto id = join_token_id::parse(parts->first);
  if (!id)
    return std::nullopt;
  return bearer{std::move(id).value(), secret_bytes{parts->second}};
}

pki::sha256_digest secret_digest(const secret_bytes& secret) {
  return pki::sha256(secret.expose());
}

}  // namespace bc::events::join_token
