#include "events/admission.hpp"

#include "events/reclaim_rules.hpp"

#include <iterator>
#include <utility>

namespace bc::events {

namespace {

/// What one rule found.
struct finding {
  bool fits = false;
  std::string expected = {};
  std::string presented = {};
};

void add(std::string& to, std::string_view name, std::string_view value) {
  if (value.empty())
    return;
  if (!to.empty())
    to += ", ";
  to.append(name).append(" ").append(value);
}

std::string expected_by(const join_token::created& t) {
  std::string out;
  add(out, "productUuid", t.expect.product_uuid.value_or(""));
  add(out, "serial", t.expect.serial.value_or(""));
  add(out, "mac", t.expect.mac.value_or(""));
  add(out, "gpuUuid", t.expect.gpu_uuid.value_or(""));
  add(out, "node", t.node ? t.node->str() : "");
  return out;
}

std::string presented_by(const admission& a) {
  const auto ids = pki::normalise(a.claims);
  std::string out;
  add(out, "productUuid", ids.product_uuid.value_or(""));
  for (const auto* list : {&ids.serials, &ids.printed_uuids})
    for (const auto& serial : *list)
      add(out, "serial", serial);
  for (const auto& mac : ids.macs)
    add(out, "mac", mac);
  for (const auto& gpu : ids.gpu_uuids)
    add(out, "gpuUuid", gpu);
  add(out, "node", a.claimed_node);
  return out;
}

// A token for one node says so on both sides; a claim that no token backs is
// as wrong as a claim of another node.
bool names_fit(const admission& a) {
  const auto& node = a.token.token->node;
  return a.claimed_node == (node ? node->str() : std::string{});
}

finding check_expect(const admission& a) {
  const auto& t = *a.token.token;
  const bool bound = !t.expect.empty() || t.node || !a.claimed_node.empty();
  if (!bound)
    return {true};
  const bool fits =
      names_fit(a) && (t.expect.empty() || pki::matches(t.expect, a.claims));
  return {fits, expected_by(t), presented_by(a)};
}

bool is_placeholder(const pki::hardware_key& key) {
  return !key.names_a_machine();
}

finding check_placeholder(const admission& a) {
  const bool bound = !a.token.token->expect.empty();
  finding out{bound || !is_placeholder(a.key)};
  out.expected = bound ? "expect binds the token"
                       : "two independent identifiers, one of them a product "
                         "UUID or serial";
  out.presented = a.key.hex.empty()       ? "no identifier survives"
                  : !a.key.trusted        ? "fewer than two independent ones"
                  : a.key.only_components ? "neither product UUID nor serial"
                                          : "enough";
  return out;
}

finding check_reclaim(const admission& a) {
  if (!a.known && !(a.named && a.named->node))
    return {true, "", "a machine that is not known"};
  const auto fault = reclaim_fault_of(a);
  return {!fault,
          "a known machine, and a token with allowReclaim for the same "
          "tenant, site, pool and role",
          std::string{fault ? reclaim_fault_text(*fault) : "all of it"}};
}

finding check_pool(const admission& a) {
  const auto& wanted = a.token.token->pool;
  if (!wanted)
    return {true, "", "a token without a pool"};
  finding out;
  out.expected = "pool " + wanted->str() + " with agent bcd";
  const auto& found = a.pool.pool;
  if (!found || found->id != *wanted)
    out.presented = "no such pool";
  else if (a.pool.archived_at)
    out.presented = "an archived pool";
  else if (found->pool_agent == pool::agent::none)
    out.presented = "a pool whose machines run no daemon";
  else
    return {true, std::move(out.expected), "that pool"};
  return out;
}

// A site token is of the site's owner. A site that is not there is the next
// rule's to find.
bool is_owner(const admission& a) {
  const auto& t = *a.token.token;
  if (t.pool)
    return a.pool.pool->tenant == t.tenant;
  return !a.site.site || a.site.site->owner == t.tenant;
}

finding check_tenant(const admission& a) {
  finding out;
  out.expected = "owned by " + a.token.token->tenant.str();
  if (!a.tenant.tenant)
    out.presented = "no such tenant";
  else if (!is_owner(a))
    out.presented = "another tenant's";
  else
    return {true, std::move(out.expected), "its own"};
  return out;
}

finding check_site(const admission& a) {
  const auto& t = *a.token.token;
  finding out;
  out.expected = "site " + t.site.str();
  const auto& found = a.site.site;
  if (!found || found->id != t.site)
    out.presented = "no such site";
  else if (a.site.deleted_at)
    out.presented = "a deleted site";
  else if (!site::is_visible_to(*found, t.tenant))
    out.presented = "a site that is not open to the tenant";
  else if (t.pool && a.pool.pool->site != t.site)
    out.presented = "a pool of another site";
  else if (a.claimed_site != t.site.str())
    out.presented = "a machine that names another site";
  else
    return {true, std::move(out.expected), "that site"};
  return out;
}

finding check_pool_attestor(const admission& a) {
  if (!a.token.token->pool)
    return {true, "", "a token without a pool"};
  const auto& rules = a.pool.pool->rules;
  finding out{pool::admits_attestor(rules, a.attestor)};
  for (const auto& attestor : rules.join_attestors)
    add(out.expected, "joinAttestors", attestor);
  out.presented = a.attestor;
  return out;
}

struct rule_row {
  join_rule what;
  refusal_reason reason;
  finding (*check)(const admission&);
};
constexpr rule_row rule_rows[] = {
    {join_rule::expect, refusal_reason::join_expect, check_expect},
    {join_rule::placeholder, refusal_reason::join_placeholder,
     check_placeholder},
    {join_rule::reclaim, refusal_reason::join_reclaim, check_reclaim},
    {join_rule::pool, refusal_reason::join_pool, check_pool},
    {join_rule::tenant, refusal_reason::join_tenant, check_tenant},
    {join_rule::site, refusal_reason::join_site, check_site},
    {join_rule::pool_attestor, refusal_reason::join_pool_attestor,
     check_pool_attestor},
};

bool is_clone_suspect(const admission& a) {
  return reclaim_fault_of(a) == reclaim_fault::too_often;
}

}  // namespace

std::string_view rule_text(join_rule r) noexcept {
  switch (r) {
    case join_rule::expect:
      return "expect";
    case join_rule::placeholder:
      return "placeholder-hardware";
    case join_rule::reclaim:
      return "reclaim";
    case join_rule::pool:
      return "pool";
    case join_rule::tenant:
      return "tenant";
    case join_rule::site:
      return "site";
    case join_rule::pool_attestor:
      return "pool-attestor";
  }
  return {};
}

std::string_view verdict_text(verdict v) noexcept {
  switch (v) {
    case verdict::passed:
      return "passed";
    case verdict::failed:
      return "failed";
    case verdict::not_reached:
      return "not-reached";
  }
  return {};
}

ruling judge(const admission& a) {
  ruling out;
  out.rules.reserve(std::size(rule_rows));
  if (!a.token.token)
    out.refused = refusal_reason::token_unknown;
  for (const auto& row : rule_rows) {
    auto& judged = out.rules.emplace_back(judged_rule{row.what});
    if (out.refused)
      continue;
    auto found = row.check(a);
    judged.how = found.fits ? verdict::passed : verdict::failed;
    judged.expected = std::move(found.expected);
    judged.presented = std::move(found.presented);
    if (!found.fits)
      out.refused = row.reason;
  }
  out.clone_suspected =
      out.refused == refusal_reason::join_reclaim && is_clone_suspect(a);
  return out;
}

pki::hardware_claims hardware_of(const wire::claims& c) {
  return {c.product_uuid, c.product_serial, c.board_serial, c.chassis_serial,
          c.macs,         c.gpu_uuids,      c.hostname};
}

}  // namespace bc::events
