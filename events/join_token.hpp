#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "events/journal.hpp"
#include "events/refusal_reason.hpp"
#include "pki/certificate.hpp"
#include "pki/digest.hpp"
#include "pki/hardware_key.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The stream of one join token (spec: joining#join-tokens).
namespace bc::events::join_token {

enum class role { node, site, provisioned, discovery };
[[nodiscard]] std::string_view role_text(role r) noexcept;
[[nodiscard]] std::optional<role> parse_role(std::string_view text) noexcept;
/// The certificate role a token of this role admits; hosted tokens admit
/// node-tenant.
[[nodiscard]] pki::certificate_role admits(role r, bool hosted) noexcept;

/// `security.join-token.created`, of a site token
/// `security.site-token.created`.
struct created {
  join_token_id id;
  tenant_id tenant;
  std::optional<pool_id> pool;  // none: a site token
  site_id site;
  role token_role = role::node;
  std::int64_t max_uses = 1;
  pki::hardware_expectation expect;  // normalised
  bool allow_reclaim = false;
  std::optional<std::string> hosted;
  time_point created_at;
  time_point expires_at;
  std::string secret_sha256;  // hex; internal
  /// Of a provisioned token: the node it is for.
  std::optional<node_id> node = std::nullopt;
  bool operator==(const created&) const = default;
};
/// `security.join-token.redeemed`: one use is spent.
struct redeemed {
  join_token_id id;
  node_id node;
  std::string csr_sha256;  // hex
  bool operator==(const redeemed&) const = default;
};
/// `security.join-token.revoked`, of a site token
/// `security.site-token.revoked`.
struct revoked {
  join_token_id id;
  std::optional<pool_id> pool;
  time_point at;
  std::optional<site_id> site = std::nullopt;  // of a site token
  bool operator==(const revoked&) const = default;
};
using event = std::variant<created, redeemed, revoked>;

struct state {
  std::uint64_t version = 0;
  std::optional<created> token;  // empty: no such token
  std::int64_t uses_left = 0;
  std::optional<time_point> revoked_at;
};

[[nodiscard]] state evolve(state s, const event& e);

/// Events of one stream become writes, and back. The moves of `created` open
/// the budget named by the stream with max_uses, of `redeemed` spend 1, of
/// `revoked` close it.
[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

/// Creation against what the stream holds. A replay (same id exists) with the
/// same pool, expect, allowReclaim and hosted, of a site token the same site:
/// no events. With others: CONFLICT.
struct create {
  created token;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const create& c);

/// No events when already revoked; NOT_FOUND unless it is a token of the pool,
/// or (with `site`) a site token of the site.
struct revoke {
  tenant_id tenant;
  std::optional<pool_id> pool;
  time_point now;
  std::optional<site_id> site = std::nullopt;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const revoke& c);

/// The first half of redeeming: is it a token of ours, and its secret (in
/// constant time)? nullopt: verified.
[[nodiscard]] std::optional<refusal_reason> check_secret(
    const state& s, const pki::sha256_digest& presented);
/// The second half, after the stored answer was looked up: revoked, expired
/// (at the exact second: now >= expiresAt), exhausted, role. A hosted token may
/// be asked for `node` and for `node-tenant`: the server decides which it gets.
[[nodiscard]] std::optional<refusal_reason> check_usable(
    const state& s, pki::certificate_role asked, time_point now);

/// bcjt_<id>.<secret>; nullopt: malformed. Nothing is trimmed.
struct bearer {
  join_token_id id;
  secret_bytes secret;  // 43 characters of base64url, as presented
};
[[nodiscard]] std::optional<bearer> parse_bearer(std::string_view text);
/// What the control plane keeps of a secret: SHA-256 of its text.
[[nodiscard]] pki::sha256_digest secret_digest(const secret_bytes& secret);

}  // namespace bc::events::join_token
