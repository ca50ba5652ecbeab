#pragma once

#include "events/admission.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

#include <functional>

namespace bc::testing {

using namespace bc::events;
using node::trust;
using pki::certificate_role;

inline const auto now = at("2026-11-29T12:00:00Z");
inline const auto root = fixed_id<tenant_id>(9);

/// Everything a join is judged by, right to start with: a tenant's token for
/// its own pool on a site that the platform shares.
struct admission_world {
  join_token::state token;
  tenant::state tenant;
  site::state site;
  pool::state pool;
  pki::hardware_claims claims;
  pki::hardware_key key{std::string(64, 'c'), true, false};
  std::optional<node::state> known;
  std::optional<node::state> named;
  std::string claimed_site = fixed_id<site_id>(1).str();
  std::string claimed_node;

  admission_world() {
    join_token::created c;
    c.id = fixed_id<join_token_id>(1);
    c.tenant = fixed_id<tenant_id>(1);
    c.pool = fixed_id<pool_id>(1);
    c.site = fixed_id<site_id>(1);
    token.token = c;
    tenant.tenant = {fixed_id<tenant_id>(1), "acme", false, now};
    site.site = {fixed_id<site_id>(1), root, "ams",
                 site::kind::shared,   now,  std::nullopt};
    pool.pool = {fixed_id<pool_id>(1),
                 fixed_id<tenant_id>(1),
                 fixed_id<site_id>(1),
                 "gpu",
                 pool::agent::bcd,
                 now,
                 {}};
    claims.product_serial = "SN-7701";
  }

  join_token::created& t() { return *token.token; }

  /// The machine is a node of the token's tenant, site, pool and role.
  node::joined& is_known() {
    node::joined j;
    j.id = fixed_id<node_id>(1);
    j.tenant = t().tenant;
    j.site = t().site;
    j.pool = t().pool;
    j.hardware_key = key.hex;
    j.hardware_key_trusted = true;
    j.node_trust = trust::platform;
    known = node::state{};
    known->version = 1;
    known->generation = 1;
    known->node = j;
    return *known->node;
  }
  void is_owned_by_root() {
    t().tenant = root;
    tenant.tenant = {root, "root", true, now};
    pool.pool->tenant = root;
  }
  void is_site_agent() {
    is_owned_by_root();
    t().token_role = join_token::role::site;
    t().pool.reset();
    pool = {};
  }

  /// Changes what the token grants, as another attestor would.
  std::function<void(grant&)> granting = [](grant&) {};
  mutable grant granted;
  pki::shared_uuids shared;
  std::optional<node::state> other;

  [[nodiscard]] admission all() const {
    granted = grant_of(*token.token);
    granting(granted);
    return {granted,
            tenant,
            site,
            pool,
            root,
            claims,
            key,
            claimed_site,
            now,
            claimed_node,
            known ? &*known : nullptr,
            named ? &*named : nullptr,
            other ? &*other : nullptr,
            nullptr,
            &shared};
  }
  /// In full; and as a join is judged, which differs in words alone.
  [[nodiscard]] ruling ruled() const {
    auto in_full = judge(all());
    const auto ids = pki::normalise(claims);
    auto a = all();
    a.identifiers = &ids;
    const auto quick = judge(a, wording::of_failed);
    CHECK(quick.refused == in_full.refused);
    CHECK(quick.clone_suspected == in_full.clone_suspected);
    REQUIRE(quick.rules.size() == in_full.rules.size());
    for (std::size_t i = 0; i < quick.rules.size(); ++i) {
      const auto& q = quick.rules[i];
      const auto& f = in_full.rules[i];
      const bool worded = f.how == verdict::failed;
      CHECK(q.what == f.what);
      CHECK(q.how == f.how);
      CHECK(q.expected == (worded ? f.expected : ""));
      CHECK(q.presented == (worded ? f.presented : ""));
    }
    return in_full;
  }
  [[nodiscard]] std::optional<refusal_reason> judged() const {
    return ruled().refused;
  }
  [[nodiscard]] admitted_identity identity() const {
    REQUIRE_FALSE(judged());
    return identity_of(all());
  }
};

}  // namespace bc::testing
