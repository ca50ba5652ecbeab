#include "events/admission.hpp"

#include "events/reclaim_rules.hpp"
#include "pki/hardware_text.hpp"

#include <iterator>
#include <utility>

namespace bc::events {

namespace {

void add(std::string& to, std::string_view name, std::string_view value) {
  if (value.empty())
    return;
  if (!to.empty())
    to += ", ";
  to.append(name).append(" ").append(value);
}

std::string expected_by(const grant& t) {
  std::string out;
  add(out, "productUuid", t.expect.product_uuid.value_or(""));
  add(out, "serial", t.expect.serial.value_or(""));
  add(out, "mac", t.expect.mac.value_or(""));
  add(out, "gpuUuid", pki::gpu_text(t.expect.gpu_uuid.value_or("")));
  add(out, "node", t.node ? t.node->str() : "");
  // Which that is, is its own tenant's to know.
  if (!t.ek_hash.empty())
    add(out, "node", "of this EK, or none named");
  return out;
}

pki::identifiers identifiers_of(const admission& a) {
  return a.identifiers != nullptr ? *a.identifiers : pki::normalise(a.claims);
}

std::string presented_by(const admission& a) {
  const auto ids = identifiers_of(a);
  std::string out;
  add(out, "productUuid", ids.product_uuid.value_or(""));
  for (const auto* list : {&ids.serials, &ids.printed_uuids})
    for (const auto& serial : *list)
      add(out, "serial", serial);
  for (const auto& mac : ids.macs)
    add(out, "mac", mac);
  for (const auto& gpu : ids.gpu_uuids)
    add(out, "gpuUuid", pki::gpu_text(gpu));
  add(out, "node", a.claimed_node);
  return out;
}

// A token for one node says so on both sides; a claim that no token backs is
// as wrong as a claim of another node. A machine that comes by its TPM may say
// which node its endorsement key is bound to.
bool names_fit(const admission& a) {
  const auto& g = a.granted;
  if (!g.ek_hash.empty() && !a.claimed_node.empty())
    return a.known && node::is_bound_to(*a.known, g.ek_hash) &&
           a.claimed_node == a.known->node->id.str();
  const auto& node = g.node;
  return a.claimed_node == (node ? node->str() : std::string{});
}

// Each rule twice: whether it fits, and what it compared in words, which only
// those ask for whom somebody will read.
struct words {
  std::string expected = {};
  std::string presented = {};
};

bool is_bound(const admission& a) {
  const auto& g = a.granted;
  return !g.expect.empty() || g.node || !a.claimed_node.empty();
}

bool fits_expect(const admission& a) {
  if (!is_bound(a))
    return true;
  const auto& expect = a.granted.expect;
  return names_fit(a) &&
         (expect.empty() || pki::matches(expect, identifiers_of(a)));
}

words word_expect(const admission& a) {
  if (!is_bound(a))
    return {};
  return {expected_by(a.granted), presented_by(a)};
}

bool fits_placeholder(const admission& a) {
  return !a.granted.expect.empty() || a.granted.bound ||
         a.key.names_a_machine();
}

words word_placeholder(const admission& a) {
  words out;
  out.expected = a.granted.bound ? "bound by its attestor"
                 : !a.granted.expect.empty()
                     ? "expect binds the token"
                     : "two independent identifiers, one of them a product "
                       "UUID or serial";
  out.presented = a.key.hex.empty()       ? "no identifier survives"
                  : !a.key.trusted        ? "fewer than two independent ones"
                  : a.key.only_components ? "neither product UUID nor serial"
                                          : "enough";
  return out;
}

bool is_known(const admission& a) {
  return a.known || a.other || (a.named && a.named->node);
}

bool fits_reclaim(const admission& a) {
  return !is_known(a) || !reclaim_fault_of(a);
}

words word_reclaim(const admission& a) {
  if (!is_known(a))
    return {"", "a machine that is not known"};
  const auto fault = reclaim_fault_of(a);
  return {a.granted.token
              ? "a known machine, and a token with allowReclaim for the "
                "same tenant, site, pool and role"
              : "its own node, of the same tenant, site, pool and role",
          std::string{fault ? reclaim_fault_text(*fault) : "all of it"}};
}

// What is wrong with the pool, the tenant and the site; empty: nothing.

std::string_view pool_fault(const admission& a) {
  const auto& wanted = a.granted.pool;
  const auto& found = a.pool.pool;
  if (!wanted)
    return {};
  if (!found || found->id != *wanted)
    return "no such pool";
  if (a.pool.archived_at)
    return "an archived pool";
  if (found->pool_agent == pool::agent::none)
    return "a pool whose machines run no daemon";
  return {};
}

// A site token is of the site's owner. A site that is not there is the next
// rule's to find.
bool is_owner(const admission& a) {
  const auto& g = a.granted;
  if (g.pool)
    return a.pool.pool->tenant == g.tenant;
  return !a.site.site || a.site.site->owner == g.tenant;
}

std::string_view tenant_fault(const admission& a) {
  if (!a.tenant.tenant)
    return "no such tenant";
  return is_owner(a) ? std::string_view{} : "another tenant's";
}

std::string_view site_fault(const admission& a) {
  const auto& g = a.granted;
  const auto& found = a.site.site;
  if (!found || found->id != g.site)
    return "no such site";
  if (a.site.deleted_at)
    return "a deleted site";
  if (!site::is_visible_to(*found, g.tenant))
    return "a site that is not open to the tenant";
  if (g.pool && a.pool.pool->site != g.site)
    return "a pool of another site";
  if (a.claimed_site != g.site.str())
    return "a machine that names another site";
  return {};
}

std::string fault_or(std::string_view fault, std::string_view otherwise) {
  return std::string{fault.empty() ? otherwise : fault};
}

bool fits_pool(const admission& a) {
  return pool_fault(a).empty();
}

words word_pool(const admission& a) {
  const auto& wanted = a.granted.pool;
  if (!wanted)
    return {"", "a token without a pool"};
  return {"pool " + wanted->str() + " with agent bcd",
          fault_or(pool_fault(a), "that pool")};
}

bool fits_tenant(const admission& a) {
  return tenant_fault(a).empty();
}

words word_tenant(const admission& a) {
  return {"owned by " + a.granted.tenant.str(),
          fault_or(tenant_fault(a), "its own")};
}

bool fits_site(const admission& a) {
  return site_fault(a).empty();
}

words word_site(const admission& a) {
  return {"site " + a.granted.site.str(), fault_or(site_fault(a), "that site")};
}

bool fits_pool_attestor(const admission& a) {
  return !a.granted.pool ||
         pool::admits_attestor(a.pool.pool->rules, a.granted.attestor);
}

words word_pool_attestor(const admission& a) {
  if (!a.granted.pool)
    return {"", "a token without a pool"};
  words out;
  for (const auto& attestor : a.pool.pool->rules.join_attestors)
    add(out.expected, "joinAttestors", attestor);
  out.presented = a.granted.attestor;
  return out;
}

struct rule_row {
  join_rule what;
  refusal_reason reason;
  bool (*fits)(const admission&);
  words (*word)(const admission&);
};
constexpr rule_row rule_rows[] = {
    {join_rule::expect, refusal_reason::join_expect, fits_expect, word_expect},
    {join_rule::placeholder, refusal_reason::join_placeholder, fits_placeholder,
     word_placeholder},
    {join_rule::reclaim, refusal_reason::join_reclaim, fits_reclaim,
     word_reclaim},
    {join_rule::pool, refusal_reason::join_pool, fits_pool, word_pool},
    {join_rule::tenant, refusal_reason::join_tenant, fits_tenant, word_tenant},
    {join_rule::site, refusal_reason::join_site, fits_site, word_site},
    {join_rule::pool_attestor, refusal_reason::join_pool_attestor,
     fits_pool_attestor, word_pool_attestor},
};

bool is_clone_suspect(const admission& a) {
  return reclaim_fault_of(a) == reclaim_fault::too_often;
}

// A TPM that comes to another's node is a reason of its own attestor.
refusal_reason reason_of(const rule_row& row, const admission& a) {
  const bool another_ek = row.what == join_rule::reclaim &&
                          !a.granted.ek_hash.empty() &&
                          reclaim_fault_of(a) == reclaim_fault::ek_bound;
  return another_ek ? refusal_reason::tpm_ek_bound : row.reason;
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

ruling judge(const admission& a, wording say) {
  ruling out;
  out.rules.reserve(std::size(rule_rows));
  for (const auto& row : rule_rows) {
    auto& judged = out.rules.emplace_back(judged_rule{row.what});
    if (out.refused)
      continue;
    const bool fits = row.fits(a);
    judged.how = fits ? verdict::passed : verdict::failed;
    if (!fits)
      out.refused = reason_of(row, a);
    if (!fits || say == wording::of_all) {
      auto said = row.word(a);
      judged.expected = std::move(said.expected);
      judged.presented = std::move(said.presented);
    }
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
