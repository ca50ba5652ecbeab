// The rules after the token's own, in the specified order; trust and role of
// who is admitted (spec: joining#creating-a-token,
// joining#placeholder-hardware-and-reclaims).
#include "admission_world.hpp"

#include <random>

using namespace bc;
using namespace bc::events;
using namespace bc::testing;
using node::trust;
using pki::certificate_role;
using world = admission_world;

TEST_CASE("admission: each row puts one more thing right") {
  world w;
  w.t().expect.serial = "SN-0000";
  w.key = {};
  w.is_known();
  w.pool = {};
  w.tenant = {};
  w.site = {};
  w.claimed_site = "";
  CHECK(w.judged() == refusal_reason::join_expect);

  w.t().expect = {};
  w.claimed_node = fixed_id<node_id>(1).str();
  CHECK(w.judged() == refusal_reason::join_expect);

  w.claimed_node = "";
  CHECK(w.judged() == refusal_reason::join_placeholder);

  w.key = {std::string(64, 'c'), false, false};
  CHECK(w.judged() == refusal_reason::join_placeholder);

  w.key = {std::string(64, 'c'), true, true};
  CHECK(w.judged() == refusal_reason::join_placeholder);

  w.key.only_components = false;
  CHECK(w.judged() == refusal_reason::join_reclaim);

  w.t().allow_reclaim = true;
  CHECK(w.judged() == refusal_reason::join_pool);

  w.pool = world{}.pool;
  w.pool.archived_at = now;
  CHECK(w.judged() == refusal_reason::join_pool);

  w.pool.archived_at.reset();
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
  w.site.deleted_at = now;
  CHECK(w.judged() == refusal_reason::join_site);

  w.site.deleted_at.reset();
  w.site.site->site_kind = site::kind::dedicated;  // to somebody else
  CHECK(w.judged() == refusal_reason::join_site);

  w.site.site->dedicated_to = fixed_id<tenant_id>(1);
  CHECK(w.judged() == refusal_reason::join_site);

  w.claimed_site = fixed_id<site_id>(2).str();
  CHECK(w.judged() == refusal_reason::join_site);

  w.claimed_site = fixed_id<site_id>(1).str();
  w.pool.pool->site = fixed_id<site_id>(2);
  CHECK(w.judged() == refusal_reason::join_site);

  w.pool.pool->site = fixed_id<site_id>(1);
  w.pool.pool->rules.join_attestors = {"tpm", "x509pop"};
  CHECK(w.judged() == refusal_reason::join_pool_attestor);

  w.pool.pool->rules.join_attestors = {"tpm", "join-token"};
  CHECK(w.judged() == std::nullopt);
}

TEST_CASE("admission: an expectation admits placeholder hardware") {
  world w;
  w.t().expect.serial = "SN-7701";
  w.key = {};
  CHECK(w.judged() == std::nullopt);
  w.key = {std::string(64, 'c'), true, true};
  CHECK(w.judged() == std::nullopt);
}

TEST_CASE("admission: a pool or site of another id does not fit") {
  world w;
  w.pool.pool->id = fixed_id<pool_id>(2);
  CHECK(w.judged() == refusal_reason::join_pool);
  w = {};
  w.site.site->id = fixed_id<site_id>(2);
  CHECK(w.judged() == refusal_reason::join_site);
}

TEST_CASE("admission: a reclaim needs the same of everything (case 71)") {
  world w;
  w.t().allow_reclaim = true;
  auto& node = w.is_known();
  REQUIRE(w.judged() == std::nullopt);
  std::string_view why;
  SECTION("tenant") {
    node.tenant = fixed_id<tenant_id>(2);
    // Of another tenant's node nothing more is told.
    node.site = fixed_id<site_id>(2);
    w.t().allow_reclaim = GENERATE(true, false);
    why = "a known machine, and this may not take it back";
  }
  SECTION("leave") {
    w.t().allow_reclaim = false;
    why = "a known machine, and this may not take it back";
  }
  SECTION("site") {
    node.site = fixed_id<site_id>(2);
    why = "a node of another site";
  }
  SECTION("pool") {
    node.pool = fixed_id<pool_id>(2);
    why = "a node of another pool";
  }
  SECTION("role") {
    node.cert.role =
        GENERATE(certificate_role::site, certificate_role::ramdisk);
    why = "a node of another role";
  }
  auto ruling = w.ruled();
  CHECK(ruling.refused == refusal_reason::join_reclaim);
  CHECK_FALSE(ruling.clone_suspected);
  CHECK(ruling.rules[2].what == join_rule::reclaim);
  CHECK(ruling.rules[2].presented == why);
}

TEST_CASE(
    "admission: the third reclaim in ten minutes is a clone's (case 68)") {
  world w;
  w.t().allow_reclaim = true;
  w.is_known();
  w.known->reclaims = {now - seconds{599}, now};
  auto ruling = w.ruled();
  CHECK(ruling.refused == refusal_reason::join_reclaim);
  CHECK(ruling.clone_suspected);

  // Who may not reclaim at all is no clone.
  w.t().allow_reclaim = false;
  CHECK(w.judged() == refusal_reason::join_reclaim);
  CHECK_FALSE(w.ruled().clone_suspected);
  // Nor who is refused before it comes to that.
  w.t().allow_reclaim = true;
  w.t().expect.serial = "SN-0000";
  CHECK_FALSE(w.ruled().clone_suspected);

  w.t().expect = {};
  w.known->reclaims = {now - seconds{600}, now};
  CHECK(w.judged() == std::nullopt);
}

TEST_CASE("admission: a token for one node is for no other") {
  world w;
  const auto node = fixed_id<node_id>(1);
  w.t().token_role = join_token::role::provisioned;
  w.t().node = node;
  w.named = node::state{};
  CHECK(w.judged() == refusal_reason::join_expect);
  w.claimed_node = fixed_id<node_id>(2).str();
  CHECK(w.judged() == refusal_reason::join_expect);
  w.claimed_node = node.str();
  CHECK(w.judged() == std::nullopt);  // not there yet

  // There, and another machine's.
  w.t().allow_reclaim = true;
  w.is_known();
  w.named = w.known;
  w.known.reset();
  CHECK(w.judged() == refusal_reason::join_reclaim);
  // This machine's.
  w.known = w.named;
  CHECK(w.judged() == std::nullopt);
  // A machine that is another node.
  w.known->node->id = fixed_id<node_id>(2);
  CHECK(w.judged() == refusal_reason::join_reclaim);
}

TEST_CASE("admission: a site agent has no pool, and is of the site's owner") {
  world w;
  w.is_site_agent();
  CHECK(w.judged() == std::nullopt);
  CHECK(w.identity().role == certificate_role::site);
  CHECK(w.identity().trust == trust::platform);
  CHECK_FALSE(w.identity().acceptance);
  w.site.site->owner = fixed_id<tenant_id>(1);
  CHECK(w.judged() == refusal_reason::join_tenant);
  w.site = {};
  CHECK(w.judged() == refusal_reason::join_site);
}

TEST_CASE("admission: rules are all there, up to the one that failed") {
  world w;
  w.site.deleted_at = now;
  auto ruling = w.ruled();
  REQUIRE(ruling.rules.size() == 7);
  const std::vector<std::pair<std::string_view, std::string_view>> want = {
      {"expect", "passed"},
      {"placeholder-hardware", "passed"},
      {"reclaim", "passed"},
      {"pool", "passed"},
      {"tenant", "passed"},
      {"site", "failed"},
      {"pool-attestor", "not-reached"}};
  for (std::size_t i = 0; i < want.size(); ++i) {
    CHECK(rule_text(ruling.rules[i].what) == want[i].first);
    CHECK(verdict_text(ruling.rules[i].how) == want[i].second);
  }
  CHECK(ruling.rules[5].presented == "a deleted site");
  CHECK(ruling.rules[6].presented.empty());
}

TEST_CASE("admission: what a binding compared is told to its tenant") {
  world w;
  w.t().expect.serial = "SN-0000";
  w.t().expect.mac = "9c:6b:00:11:22:33";
  w.claims.macs = {"9C-6B-00-11-22-34"};
  auto rule = w.ruled().rules[0];
  CHECK(rule.expected == "serial SN-0000, mac 9c:6b:00:11:22:33");
  CHECK(rule.presented == "serial SN-7701, mac 9c:6b:00:11:22:34");
}

// spec: joining#creating-a-token, "a hosted token"
TEST_CASE("admission: trust and role of the node") {
  world w;
  auto is = [&](trust t, certificate_role r) {
    auto got = w.identity();
    CHECK(node::trust_text(got.trust) == node::trust_text(t));
    CHECK(pki::role_text(got.role) == pki::role_text(r));
  };
  const auto custom = [&] {
    w.site.site->site_kind = site::kind::custom;
    w.site.site->owner = w.t().tenant;
  };
  SECTION("a platform site") {
    is(trust::platform, certificate_role::node);
  }
  SECTION("a tenant's own site") {
    custom();
    is(trust::tenant_owned, certificate_role::node);
  }
  SECTION("a platform kind that the platform does not own") {
    w.site.site->owner = w.t().tenant;
    is(trust::tenant_owned, certificate_role::node);
  }
  SECTION("hosted on a platform site") {
    w.t().hosted = "kubernetes";
    is(trust::tenant_controlled, certificate_role::node_tenant);
  }
  SECTION("hosted on a tenant's own site: no platform trust to lower") {
    w.t().hosted = "kubernetes";
    custom();
    is(trust::tenant_owned, certificate_role::node_tenant);
  }
  SECTION("a tenant does not vouch for its own cluster") {
    w.t().hosted = "kubernetes";
    w.pool.pool->rules.platform_operated = true;
    is(trust::tenant_controlled, certificate_role::node_tenant);
  }
  SECTION("the platform vouches for the one it operates") {
    w.is_owned_by_root();
    w.t().hosted = "kubernetes";
    w.pool.pool->rules.platform_operated = true;
    is(trust::platform, certificate_role::node);
    w.pool.pool->rules.platform_operated = false;
    is(trust::tenant_controlled, certificate_role::node_tenant);
  }
  SECTION("not on a custom site, the root's own too") {
    w.is_owned_by_root();
    w.t().hosted = "kubernetes";
    w.pool.pool->rules.platform_operated = true;
    w.site.site->site_kind = site::kind::custom;
    is(trust::tenant_owned, certificate_role::node_tenant);
  }
  SECTION("what a deploy installed, and a ramdisk") {
    w.t().token_role = join_token::role::provisioned;
    is(trust::platform, certificate_role::node);
    w.t().token_role = join_token::role::discovery;
    is(trust::platform, certificate_role::ramdisk);
    w.t().token_role = join_token::role::provisioned;
    w.t().hosted = "kubernetes";
    is(trust::tenant_controlled, certificate_role::node_tenant);
  }
  SECTION("a reclaim with a hosted token lowers the node") {
    w.t().allow_reclaim = true;
    w.t().hosted = "kubernetes";
    w.is_known();
    is(trust::tenant_controlled, certificate_role::node_tenant);
  }
  SECTION("a reclaim raises nothing") {
    w.t().allow_reclaim = true;
    auto& node = w.is_known();
    node.node_trust = trust::tenant_controlled;
    node.cert.role = certificate_role::node_tenant;
    is(trust::tenant_controlled, certificate_role::node_tenant);
    node.node_trust = trust::tenant_owned;
    node.cert.role = certificate_role::node;
    is(trust::tenant_owned, certificate_role::node);
  }
}

TEST_CASE("admission: acceptance is the pool's") {
  world w;
  CHECK_FALSE(w.identity().acceptance);
  w.pool.pool->rules.acceptance_checks = {"burn-in"};
  CHECK(w.identity().acceptance);
}

TEST_CASE("admission: other network cards are told of, not refused") {
  world w;
  w.t().allow_reclaim = true;
  auto& node = w.is_known();
  CHECK_FALSE(w.identity().hardware_changed);
  node.claims.macs = {"9c:6b:00:11:22:33", "9c:6b:00:11:22:44"};
  CHECK_FALSE(w.identity().hardware_changed);
  w.claims.macs = {"9C6B00112244"};
  CHECK_FALSE(w.identity().hardware_changed);
  w.claims.macs = {"9c:6b:00:11:22:55"};
  CHECK(w.identity().hardware_changed);
}

TEST_CASE("admission: which identifiers of a known machine are others now") {
  using names = std::vector<std::string>;
  const std::string common = "30343536-3138-5a43-3231-313130325a47";
  world w;
  w.t().allow_reclaim = true;
  auto& node = w.is_known();
  node.claims.product_serial = "SN-7701";
  node.claims.product_uuid = common;
  node.claims.macs = {"9c:6b:00:11:22:33"};
  w.claims.macs = node.claims.macs;
  w.claims.product_uuid = common;
  CHECK(w.identity().changed_identifiers.empty());
  w.claims.product_uuid = "7d5a1f0e-93b4-4c1d-8a52-6d0c3f7be912";
  CHECK(w.identity().changed_identifiers == names{"productUuid"});

  SECTION("a UUID that many have is none, then as now") {
    const std::vector<std::string> texts{common};
    w.shared = pki::shared_uuids::parse(texts).value();
    w.claims.product_uuid.clear();
    CHECK(w.identity().changed_identifiers.empty());
    w.claims.macs = {"9c:6b:00:11:22:55"};
    CHECK(w.identity().changed_identifiers == names{"mac"});
  }
  SECTION("what its inventory found counts before what it claimed") {
    w.known->identifiers = pki::hashes_of(pki::normalise(w.claims));
    CHECK(w.identity().changed_identifiers.empty());
  }
}

// A rule of its own for each field, so that judge() is held to the seed and
// not to itself.
TEST_CASE("admission: over random joins, admitted is what the seed admits") {
  std::mt19937 random{static_cast<unsigned>(Catch::rngSeed() + 1)};
  auto coin = [&](int one_in = 6) {
    return random() % static_cast<unsigned>(one_in) == 0;
  };
  std::size_t admitted = 0, reclaimed = 0;
  for (int i = 0; i < 20'000; ++i) {
    world w;
    auto& t = w.t();
    if (coin())
      w.is_site_agent();
    else if (coin())
      w.is_owned_by_root();
    if (coin())
      t.expect.serial = coin(2) ? "SN-7701" : "SN-0000";
    if (coin())
      w.key = {coin(2) ? std::string(64, 'c') : "", coin(2), coin(2)};
    t.allow_reclaim = coin(2);
    if (coin(2) && w.key.trusted) {
      auto& node = w.is_known();
      if (coin())
        node.tenant = fixed_id<tenant_id>(2);
      if (coin())
        node.site = fixed_id<site_id>(2);
      if (coin())
        node.pool = fixed_id<pool_id>(2);
      if (coin())
        node.cert.role = static_cast<certificate_role>(random() % 4);
      if (coin())
        w.known->reclaims = {now, now};
    }
    if (coin() && w.pool.pool)
      w.pool.archived_at = now;
    if (coin() && w.pool.pool)
      w.pool.pool->rules.join_attestors = {coin(2) ? "tpm" : "join-token"};
    if (coin())
      w.site.deleted_at = now;
    if (coin())
      w.tenant = {};
    if (coin())
      w.claimed_site = fixed_id<site_id>(2).str();

    const bool expected = !t.expect.serial || t.expect.serial == "SN-7701";
    const bool solid =
        !w.key.hex.empty() && w.key.trusted && !w.key.only_components;
    bool own = true;
    if (w.known) {
      const auto& node = *w.known->node;
      const bool agent = t.token_role == join_token::role::site;
      const bool was_agent = node.cert.role == certificate_role::site;
      own = t.allow_reclaim && node.tenant == t.tenant && node.site == t.site &&
            node.pool == t.pool && agent == was_agent &&
            node.cert.role != certificate_role::ramdisk &&
            w.known->reclaims.empty();
    }
    const auto& attestors = w.pool.pool ? w.pool.pool->rules.join_attestors
                                        : std::vector<std::string>{};
    const bool right = expected && (solid || t.expect.serial) && own &&
                       !w.pool.archived_at && w.tenant.tenant &&
                       !w.site.deleted_at &&
                       w.claimed_site == fixed_id<site_id>(1).str() &&
                       (attestors.empty() || attestors.front() == "join-token");

    const auto ruling = w.ruled();
    CHECK(!ruling.refused == right);
    std::size_t failed = 0;
    bool over = false;
    for (const auto& rule : ruling.rules) {
      CHECK((rule.how == verdict::not_reached) == over);
      if (rule.how == verdict::failed) {
        ++failed;
        over = true;
      }
    }
    CHECK(failed == (right ? 0 : 1));
    if (!right)
      continue;
    ++admitted;
    const auto identity = identity_of(w.all());
    if (w.known) {
      ++reclaimed;
      CHECK(identity.trust >= w.known->node->node_trust);
    }
  }
  // The sample is of both kinds.
  CHECK(admitted > 500);
  CHECK(reclaimed > 50);
}
