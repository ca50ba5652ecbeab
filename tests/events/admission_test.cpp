// The rules after the token's own, in the specified order.
#include "events/admission.hpp"

#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::fixed_id;

namespace {

const auto now = at("2026-11-29T12:00:00Z");

// Everything a join is judged by, right to start with.
struct world {
  join_token::state token;
  tenant::state tenant;
  site::state site;
  pool::state pool;
  pki::hardware_claims claims;
  pki::hardware_key key{std::string(64, 'c'), true, false};
  std::optional<std::string> holder;
  std::string claimed_site = fixed_id<site_id>(1).str();

  world() {
    join_token::created c;
    c.id = fixed_id<join_token_id>(1);
    c.tenant = fixed_id<tenant_id>(1);
    c.pool = fixed_id<pool_id>(1);
    c.site = fixed_id<site_id>(1);
    token.token = c;
    tenant.tenant = {fixed_id<tenant_id>(1), "acme", false, now};
    site.site = {fixed_id<site_id>(1), fixed_id<tenant_id>(1), "ams",
                 site::kind::dedicated, now};
    pool.pool = {fixed_id<pool_id>(1), fixed_id<tenant_id>(1),
                 fixed_id<site_id>(1), "gpu",
                 pool::agent::bcd,     now};
    claims.product_serial = "SN-7701";
  }

  std::optional<refusal_reason> judged() const {
    return judge(
        {token, tenant, site, pool, claims, key, holder, claimed_site});
  }
};

}  // namespace

TEST_CASE("admission: each row puts one more thing right") {
  world w;
  w.token.token->expect.serial = "SN-0000";
  w.key = {};
  w.holder = "node:x";
  w.pool = {};
  w.tenant = {};
  w.site = {};
  w.claimed_site = "";
  CHECK(w.judged() == refusal_reason::join_expect);

  w.token.token->expect = {};
  CHECK(w.judged() == refusal_reason::join_placeholder);

  w.key = {std::string(64, 'c'), false, false};
  CHECK(w.judged() == refusal_reason::join_placeholder);

  w.key = {std::string(64, 'c'), true, true};
  CHECK(w.judged() == refusal_reason::join_placeholder);

  w.key.only_components = false;
  CHECK(w.judged() == refusal_reason::join_reclaim);

  w.holder.reset();
  CHECK(w.judged() == refusal_reason::join_pool);

  w.pool = world{}.pool;
  w.pool.pool->pool_agent = pool::agent::none;
  CHECK(w.judged() == refusal_reason::join_pool);

  w.pool.pool->pool_agent = pool::agent::bcd;
  w.pool.pool->tenant = fixed_id<tenant_id>(2);
  CHECK(w.judged() == refusal_reason::join_tenant);

  w.pool.pool->tenant = fixed_id<tenant_id>(1);
  CHECK(w.judged() == refusal_reason::join_tenant);

  w.tenant = world{}.tenant;
  CHECK(w.judged() == refusal_reason::join_site);

  w.site = world{}.site;
  CHECK(w.judged() == refusal_reason::join_site);

  w.claimed_site = fixed_id<site_id>(2).str();
  CHECK(w.judged() == refusal_reason::join_site);

  w.claimed_site = fixed_id<site_id>(1).str();
  w.pool.pool->site = fixed_id<site_id>(2);
  CHECK(w.judged() == refusal_reason::join_site);

  w.pool.pool->site = fixed_id<site_id>(1);
  CHECK(w.judged() == std::nullopt);
}

TEST_CASE("admission: an expectation admits placeholder hardware") {
  world w;
  w.token.token->expect.serial = "SN-7701";
  w.key = {};
  CHECK(w.judged() == std::nullopt);
  w.key = {std::string(64, 'c'), true, true};
  CHECK(w.judged() == std::nullopt);
}

TEST_CASE("admission: an untrusted key is never known hardware") {
  world w;
  w.token.token->expect.serial = "SN-7701";
  w.key.trusted = false;
  w.holder = "node:x";
  CHECK(w.judged() == std::nullopt);
  w.key.trusted = true;
  CHECK(w.judged() == refusal_reason::join_reclaim);
  // Reclaims are not served yet: the token's own leave changes nothing.
  w.token.token->allow_reclaim = true;
  CHECK(w.judged() == refusal_reason::join_reclaim);
}

TEST_CASE("admission: a pool or site of another id does not fit") {
  world w;
  w.pool.pool->id = fixed_id<pool_id>(2);
  CHECK(w.judged() == refusal_reason::join_pool);
  w = {};
  w.site.site->id = fixed_id<site_id>(2);
  CHECK(w.judged() == refusal_reason::join_site);
}
