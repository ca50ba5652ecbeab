#include "actors/api/methods.hpp"
#include "actors/api/refusal_texts.hpp"
#include "actors/joining/refusal_details.hpp"
#include "events/join_token.hpp"
#include "projections/queries.hpp"

#include <optional>
#include <tuple>

// joins.explain: what the index of recent refusals holds of one CSR, for its
// owner alone (spec: DESIGN section 7).
namespace bc::actors::api {

namespace {

using events::refused_join;
using projections::join_token_row;

constexpr std::size_t most_shown = 10;
constexpr int most_tokens = 200;

struct explanation {
  refused_join refused;
  std::optional<events::refusal_reason> reason;
  json::document details;
  std::string pool;  // of its token; empty: none is known
};

explanation explain(const refused_join& r) {
  explanation out;
  out.refused = r;
  out.reason = events::reason_of(r.reason);
  if (auto read = json::parse_object(r.details))
    out.details = std::move(read).value();
  else
    out.details.SetObject();
  if (auto pool = json::reader{out.details}.optional_text("poolId"))
    out.pool = pool.value().value_or("");
  return out;
}

// What the pool, the site or the machine's own request decides is the same for
// every token.
bool is_the_tokens(std::optional<events::refusal_reason> r) {
  using enum events::refusal_reason;
  return r == token_revoked || r == token_expired || r == token_exhausted ||
         r == token_role_mismatch || r == join_expect ||
         r == join_placeholder || r == join_reclaim;
}

/// Would this live token have let the machine pass where it was refused?
bool would_help(const join_token_row& row, const explanation& e,
                const pki::identifiers& machine, time_point now) {
  auto asked = pki::parse_role(e.refused.role);
  auto role = events::join_token::parse_role(row.role);
  if (!asked || !role || row.node)
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

/// The one made for this very machine, else the one that lives longest.
const join_token_row* nearest(const std::vector<join_token_row>& live,
                              const explanation& e, time_point now) {
  const auto machine = identifiers_in(e.refused.details);
  auto rank = [](const join_token_row& row) {
    return std::tuple{!row.expect.empty(), row.expires_at};
  };
  const join_token_row* best = nullptr;
  for (const auto& row : live)
    if (would_help(row, e, machine, now) &&
        (best == nullptr || rank(*best) < rank(row)))
      best = &row;
  return best;
}

void put_text(json::writer& out, const explanation& e, std::string_view name) {
  if (auto text = json::reader{e.details}.optional_text(name))
    out.field(name, text.value());
}

void put_refusal(json::writer& out, const explanation& e,
                 const join_token_row* live) {
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
  if (e.details.HasMember("identifiers"))
    out.key("identifiers").raw_value(e.details["identifiers"]);
  if (live != nullptr)
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
                                time_point now) {
  json::writer out;
  out.begin_object().field("csrSha256", found.front().csr_sha256);
  out.key("refusals").begin_array();
  for (const auto& r : found) {
    // Of two that begin alike, the newer.
    if (r.csr_sha256 != found.front().csr_sha256)
      continue;
    const auto e = explain(r);
    std::vector<join_token_row> live;
    // Whoever may not list the pool's tokens is told of none.
    if (is_the_tokens(e.reason) && !e.pool.empty() &&
        allows(who.grants, "compute:join-tokens:read",
               "compute-pool/" + e.pool)) {
      BC_TRY(page, q.list_join_tokens(who.tenant.str(), e.pool, false, now, "",
                                      most_tokens));
      live = std::move(page.items);
    }
    put_refusal(out, e, nearest(live, e, now));
  }
  return out.end_array().end_object().str();
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
        x->streams->query(
            [found = std::move(found), who = x->who,
             now = x->streams->now()](projections::queries& q) {
              return answer_text(q, who, found, now);
            },
            then(x, [x](std::string text) { x->answer(std::move(text)); }));
      }));
}

}  // namespace bc::actors::api
