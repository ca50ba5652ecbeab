#include "actors/api/methods.hpp"
#include "actors/api/records.hpp"
#include "actors/api/refusal_texts.hpp"
#include "actors/joining/refusal_details.hpp"
#include "events/join_token.hpp"
#include "events/reclaim_rules.hpp"
#include "projections/queries.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

// joins.explain: what the index of recent refusals holds of one CSR, for its
// owner alone (spec: DESIGN section 7).
namespace bc::actors::api {

namespace {

using events::refused_join;
using projections::join_token_row;

constexpr std::size_t most_shown = 10;
// Of a pool's live tokens: what is looked through for the nearest.
constexpr int page_size = 200;
constexpr int most_pages = 10;

struct explanation {
  refused_join refused;
  std::optional<events::refusal_reason> reason;
  json::document details;
};

std::string detail(const explanation& e, std::string_view name) {
  auto text = json::reader{e.details}.optional_text(name);
  return text ? text.value().value_or("") : "";
}

/// The node that holds a machine's hardware, when it is the caller's.
struct held_by {
  std::string hardware_key;
  std::string pool;  // empty: there is none
};

explanation explain(const refused_join& r) {
  explanation out;
  out.refused = r;
  out.reason = events::reason_of(r.reason);
  if (auto read = json::parse_object(r.details))
    out.details = std::move(read).value();
  else
    out.details.SetObject();
  return out;
}

// A reclaim that failed for anything else fails with every token.
bool may_not_reclaim(const explanation& e) {
  using enum events::reclaim_fault;
  return e.reason == events::refusal_reason::join_reclaim &&
         detail(e, "presented") == events::reclaim_fault_text(not_allowed);
}

// What the pool, the site or the machine's own request decides is the same for
// every token.
bool is_the_tokens(const explanation& e) {
  using enum events::refusal_reason;
  const auto r = e.reason;
  return r == token_revoked || r == token_expired || r == token_exhausted ||
         r == token_role_mismatch ||
         (r == join_expect && !e.refused.token.empty()) ||
         r == join_placeholder || may_not_reclaim(e);
}

/// The pool whose tokens might help: the refused one's, or the one that a known
/// machine's node is in. Empty: none is known.
std::string pool_to_look_in(const explanation& e, const held_by& held) {
  if (!is_the_tokens(e))
    return {};
  if (!may_not_reclaim(e))
    return detail(e, "poolId");
  return detail(e, "hardwareKey") == held.hardware_key ? held.pool : "";
}

/// Would this live token have let the machine pass where it was refused?
bool would_help(const join_token_row& row, const explanation& e,
                const pki::identifiers& machine, time_point now) {
  auto asked = pki::parse_role(e.refused.role);
  auto role = events::join_token::parse_role(row.role);
  if (!asked || !role || row.node || row.id == e.refused.token)
    return false;
  events::join_token::created token;
  token.token_role = *role;
  token.hosted = row.hosted;
  token.expires_at = row.expires_at;
  if (events::join_token::check_usable({1, token, row.uses_left, {}}, *asked,
                                       now))
    return false;
  const bool bound = !row.expect.empty();
  if (bound && !pki::matches(row.expect, machine))
    return false;
  using enum events::refusal_reason;
  if (e.reason == join_placeholder)
    return bound;
  return e.reason != join_reclaim || row.allow_reclaim;
}

/// Of a pool's live tokens that would have helped: the one made for this very
/// machine, else the one that lives longest.
result<std::optional<join_token_row>> nearest(projections::queries& q,
                                              const tenant_id& tenant,
                                              const std::string& pool,
                                              const explanation& e,
                                              time_point now) {
  const auto machine = identifiers_in(e.refused.details);
  auto rank = [](const join_token_row& row) {
    return std::tuple{!row.expect.empty(), row.expires_at};
  };
  std::optional<join_token_row> best;
  std::string after;
  for (int n = 0; n < most_pages; ++n) {
    BC_TRY(page, q.list_join_tokens(tenant.str(), pool, false, now, after,
                                    page_size));
    for (auto& row : page.items)
      if (would_help(row, e, machine, now) &&
          (!best || rank(*best) < rank(row)))
        best = std::move(row);
    if (!page.next)
      break;
    after = *page.next;
  }
  return best;
}

void put_text(json::writer& out, const explanation& e, std::string_view name) {
  if (auto text = json::reader{e.details}.optional_text(name))
    out.field(name, text.value());
}

void put_refusal(json::writer& out, const explanation& e,
                 const std::optional<join_token_row>& live) {
  const auto& r = e.refused;
  out.begin_object().field("reason", r.reason);
  if (e.reason)
    out.field("meaning", meaning_of(*e.reason))
        .field("advice", advice_on(*e.reason));
  out.field("attestor", r.attestor)
      .field("role", r.role)
      .field("times", r.times)
      .field("firstAt", to_rfc3339(r.first_at))
      .field("lastAt", to_rfc3339(r.last_at));
  if (!r.token.empty())
    out.field("tokenId", r.token);
  for (auto name :
       {"poolId", "claimedSiteId", "hardwareKey", "expected", "presented"})
    put_text(out, e, name);
  if (auto ids = json::reader{e.details}.object("identifiers"))
    put_identifiers(out.key("identifiers"), ids.value().raw());
  if (live)
    out.key("liveToken")
        .begin_object()
        .field("id", live->id)
        .field("usesLeft", live->uses_left)
        .field("expiresAt", to_rfc3339(live->expires_at))
        .end_object();
  out.end_object();
}

result<std::string> answer_text(projections::queries& q, const caller& who,
                                const std::vector<refused_join>& found,
                                const held_by& held, time_point now) {
  json::writer out;
  out.begin_object().field("csrSha256", found.front().csr_sha256);
  out.key("refusals").begin_array();
  for (const auto& r : found) {
    // Of two that begin alike, the newer.
    if (r.csr_sha256 != found.front().csr_sha256)
      continue;
    const auto e = explain(r);
    const auto pool = pool_to_look_in(e, held);
    std::optional<join_token_row> live;
    // Whoever may not list the pool's tokens is told of none.
    if (!pool.empty() && allows(who.grants, "compute:join-tokens:read",
                                "compute-pool/" + pool)) {
      BC_TRY(best, nearest(q, who.tenant, pool, e, now));
      live = std::move(best);
    }
    put_refusal(out, e, live);
  }
  return out.end_array().end_object().str();
}

// The hardware of the newest reclaim that another token may have let through;
// refusals of one CSR are one machine's. Empty: there is none.
std::string hardware_to_find(const std::vector<refused_join>& found) {
  for (const auto& r : found)
    if (const auto e = explain(r); may_not_reclaim(e))
      return detail(e, "hardwareKey");
  return {};
}

std::string pool_of(const events::node::state& node, const tenant_id& tenant,
                    const std::string& hardware) {
  const bool is_theirs = events::node::holds_hardware(node, hardware) &&
                         node.node && node.node->tenant == tenant &&
                         node.node->pool;
  return is_theirs ? node.node->pool->str() : "";
}

/// Calls `next` with the node that holds the hardware now.
void find_holder(exchange_ptr x, std::string hardware,
                 std::function<void(held_by)> next) {
  if (hardware.empty())
    return next({});
  auto claim = events::node::hardware_claim(hardware);
  x->streams->holder(
      std::move(claim),
      then(x, [x, hardware = std::move(hardware), next = std::move(next)](
                  std::optional<events::claim_holder> holder) {
        if (!holder)
          return next({});
        const std::string_view stream = holder->stream;
        auto id = node_id::parse(stream.substr(stream.find(':') + 1));
        if (!id)
          return x->break_off(
              fail(errc::internal, "The hardware is held by no node"));
        x->streams->node(
            id.value(),
            then(x, [x, hardware,
                     next](const shared_state<events::node::state>& node) {
              next({hardware, pool_of(*node, x->who.tenant, hardware)});
            }));
      }));
}

void answer(exchange_ptr x, std::vector<refused_join> found,
            const held_by& held) {
  x->streams->query(
      [found = std::move(found), held, who = x->who,
       now = x->streams->now()](projections::queries& q) {
        return answer_text(q, who, found, held, now);
      },
      then(x, [x](std::string text) { x->answer(std::move(text)); }));
}

}  // namespace

void joins_explain(exchange_ptr x) {
  auto hash = x->in().text("csrSha256");
  if (!hash)
    return x->refuse(hash.error());
  x->streams->refusals(
      x->who.tenant.str(), hash.value(), most_shown,
      then(x, [x](std::vector<refused_join> found) {
        // The same for what was never refused and what is another's.
        if (found.empty())
          return x->refuse(errc::not_found, "No refusal of this CSR is known");
        auto hardware = hardware_to_find(found);
        find_holder(x, std::move(hardware),
                    [x, found = std::move(found)](const held_by& held) {
                      answer(x, found, held);
                    });
      }));
}

}  // namespace bc::actors::api
