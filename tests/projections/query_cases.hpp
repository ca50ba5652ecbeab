#pragma once

#include "events/audit.hpp"
#include "projections/queries.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

// What every store's read models answer. The file that includes this one says
// which store it is: bc::testing::read_model_store.
namespace bc::testing {

namespace ev = bc::events;

namespace {

// All ids of a list, page by page; each full page but the last has a cursor.
template <class List>
std::vector<std::string> walk(int limit, List list) {
  std::vector<std::string> ids;
  std::string after;
  for (;;) {
    auto page = list(after, limit);
    REQUIRE(page);
    CHECK(page.value().items.size() <= static_cast<std::size_t>(limit));
    for (const auto& row : page.value().items)
      ids.push_back(row.id);
    if (!page.value().next)
      break;
    REQUIRE(page.value().items.size() == static_cast<std::size_t>(limit));
    CHECK(*page.value().next == page.value().items.back().id);
    after = *page.value().next;
  }
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
  return ids;
}

}  // namespace

TEST_CASE("queries: pages cover the list once, in id order") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto other_pool = f.add_pool(tenant, site);
  f.add_token(tenant, other_pool, site);
  std::vector<std::string> want;
  for (int i = 0; i < 12; ++i)
    want.push_back(f.add_token(tenant, pool, site).id.str());
  std::sort(want.begin(), want.end());
  auto q = f.queries();
  bool inactive = GENERATE(false, true);
  for (int limit : {1, 5, 11, 12, 13, 200}) {
    INFO(limit);
    CHECK(walk(limit, [&](std::string_view after, int n) {
            return q->list_join_tokens(tenant.str(), pool.str(), inactive,
                                       f.time.now(), after, n);
          }) == want);
  }
}

TEST_CASE("queries: nodes of a tenant, and of one pool") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  std::vector<std::string> all, first_pool;
  for (int p = 0; p < 2; ++p) {
    auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 9);
    for (int i = 0; i < 4; ++i) {
      auto j = f.join(token);
      all.push_back(j.id.str());
      if (p == 0)
        first_pool.push_back(j.id.str());
    }
    if (p == 0)
      continue;
    auto q = f.queries();
    auto pool_of = q->get_node(tenant.str(), first_pool[0]).value()->pool;
    std::sort(all.begin(), all.end());
    std::sort(first_pool.begin(), first_pool.end());
    auto list = [&](std::string_view pool) {
      return walk(3, [&](std::string_view after, int n) {
        return q->list_nodes({tenant.str(), std::string{pool}}, after, n);
      });
    };
    CHECK(list("") == all);
    CHECK(list(pool_of) == first_pool);
  }
}

TEST_CASE("queries: a token is live until its last use, second or revocation") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto used = f.add_token(tenant, pool, site, 1);
  auto revoked = f.add_token(tenant, pool, site, 5);
  auto expiring = f.add_token(tenant, pool, site, 5, seconds{60});
  auto live = f.add_token(tenant, pool, site, 5);
  f.join(used);
  f.revoke(revoked);
  auto q = f.queries();
  auto list = [&](bool inactive, time_point now) {
    return walk(10, [&](std::string_view after, int n) {
      return q->list_join_tokens(tenant.str(), pool.str(), inactive, now, after,
                                 n);
    });
  };
  std::vector<std::string> both{expiring.id.str(), live.id.str()};
  std::sort(both.begin(), both.end());
  CHECK(list(false, expiring.expires_at - milliseconds{1}) == both);
  CHECK(list(false, expiring.expires_at) == std::vector{live.id.str()});
  CHECK(list(true, expiring.expires_at).size() == 4);
  CHECK(list(false, live.expires_at).empty());

  // Another token's event later marks it as lapsed; nothing is seen of that.
  f.time.advance(seconds{61});
  auto late = f.add_token(tenant, pool, site, 5);
  CHECK(ask(*f.connect(),
            "select count(*) from join_tokens where lapsed = 1") == "1");
  std::vector<std::string> now_live{late.id.str(), live.id.str()};
  std::sort(now_live.begin(), now_live.end());
  CHECK(list(false, f.time.now()) == now_live);
  CHECK(list(true, f.time.now()).size() == 5);
}

TEST_CASE("queries: nothing of another tenant is seen") {
  read_model_store f;
  auto mine = f.add_tenant(), theirs = f.add_tenant();
  auto my_site = f.add_site(mine), their_site = f.add_site(theirs);
  auto shared = f.add_site(theirs, ev::site::kind::shared);
  auto my_shared = f.add_site(mine, ev::site::kind::shared);
  auto pool = f.add_pool(theirs, their_site);
  auto token = f.add_token(theirs, pool, their_site, 2);
  auto j = f.join(token);
  auto q = f.queries();

  std::vector<std::string> sites{my_site.str(), shared.str(), my_shared.str()};
  std::sort(sites.begin(), sites.end());
  for (int limit : {1, 2, 3, 10})
    CHECK(walk(limit, [&](std::string_view after, int n) {
            return q->list_sites(mine.str(), false, after, n);
          }) == sites);

  CHECK(q->list_pools(mine.str(), true, "", 10).value().items.empty());
  CHECK(q->list_pools(theirs.str(), true, "", 10).value().items.size() == 1);
  CHECK(q->list_join_tokens(mine.str(), pool.str(), true, f.time.now(), "", 10)
            .value()
            .items.empty());
  CHECK(q->list_nodes({mine.str()}, "", 10).value().items.empty());
  CHECK(q->list_nodes({mine.str(), pool.str()}, "", 10).value().items.empty());
  CHECK(!q->get_node(mine.str(), j.id.str()).value());
  CHECK(q->list_certificates(mine.str(), j.id.str(), f.time.now(), 20)
            .value()
            .shown.empty());
  CHECK(q->get_node(theirs.str(), j.id.str()).value());
  CHECK(q->list_certificates(theirs.str(), j.id.str(), f.time.now(), 20)
            .value()
            .shown.size() == 1);
  CHECK(!q->get_node(theirs.str(), "node_x").value());
}

TEST_CASE("queries: a cursor is only a value") {
  read_model_store f;
  f.add_tenant();
  auto q = f.queries();
  for (auto after : {"", "'; drop table tenants; --", "\xc3\xbf", "zzzz"}) {
    auto page = q->list_tenants(after, 10);
    REQUIRE(page);
    CHECK(!page.value().next);
  }
  CHECK(q->list_tenants("", 10).value().items.size() == 1);
}

TEST_CASE("queries: credentials of a tenant, revoked ones too") {
  read_model_store f;
  auto mine = f.add_tenant(), theirs = f.add_tenant();
  auto first = f.add_credential(mine);
  auto second = f.add_credential(mine);
  f.add_credential(theirs);
  f.time.advance(seconds{7});
  f.revoke(first);
  auto q = f.queries();
  std::vector<std::string> want{first.id.str(), second.id.str()};
  std::sort(want.begin(), want.end());
  for (int limit : {1, 2, 3})
    CHECK(walk(limit, [&](std::string_view after, int n) {
            return q->list_credentials(mine.str(), after, n);
          }) == want);
  auto rows = q->list_credentials(mine.str(), "", 10);
  for (const auto& row : rows.value().items) {
    bool is_first = row.id == first.id.str();
    CHECK(row.principal == (is_first ? first : second).principal);
    CHECK(row.grants == R"([{"action":"compute:*","resource":"*"}])");
    CHECK(row.created_at == first.at);
    CHECK(row.revoked_at ==
          (is_first ? std::optional{f.time.now()} : std::nullopt));
  }
}

TEST_CASE("queries: the position is that of the last event shown") {
  read_model_store f;
  CHECK(f.queries()->position().value() == 0);
  f.add_tenant();
  f.add_tenant();
  auto q = f.queries();
  CHECK(q->position().value() == 2);
  CHECK(q->parked().value() == 0);
}

namespace {

// Some nodes in two pools on two sites, in every status.
struct fleet {
  explicit fleet(read_model_store& f) : tenant(f.add_tenant()) {
    for (int i = 0; i < 24; ++i) {
      if (i % 6 == 0)
        site = f.add_site(tenant);
      if (i % 6 == 0 || i % 6 == 4)
        pool = f.add_pool(tenant, site);
      auto j = f.join(f.add_token(tenant, pool, site));
      if (i % 4 != 0)
        f.decide_on(j, ev::node::adopt{f.time.now()});
      if (i % 4 >= 2)
        f.decide_on(j, ev::node::cordon{f.time.now(), ""});
      if (i % 4 == 3)
        f.decide_on(j, ev::node::retire{f.time.now(), ""});
      nodes.push_back(j);
    }
  }

  std::vector<std::string> matching(read_model_store& f,
                                    const projections::node_filter& w) const {
    std::vector<std::string> ids;
    for (const auto& j : nodes) {
      std::string status{ev::node::status_text(f.node_state(j.id).current)};
      bool fits = (w.pool.empty() || w.pool == j.pool->str()) &&
                  (w.site.empty() || w.site == j.site.str()) &&
                  (w.status.empty() ? w.include_retired || status != "retired"
                                    : w.status == status);
      if (fits)
        ids.push_back(j.id.str());
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  tenant_id tenant;
  site_id site;
  pool_id pool;
  std::vector<ev::node::joined> nodes;
};

}  // namespace

TEST_CASE("queries: nodes by pool, site and status, in every combination") {
  read_model_store f;
  fleet all{f};
  auto q = f.queries();
  const auto& some = all.nodes.at(7);
  int found = 0;
  for (const std::string& pool : {std::string{}, some.pool->str()})
    for (const std::string& site :
         {std::string{}, some.site.str(), f.random.id<site_id>().str()})
      for (const std::string status :
           {"", "adopting", "adopted", "cordoned", "retired"})
        for (bool retired : {false, true})
          for (int limit : {1, 2, 100}) {
            projections::node_filter which{all.tenant.str(), pool, site, status,
                                           retired};
            CAPTURE(pool, site, status, retired, limit);
            auto ids = walk(limit, [&](std::string_view after, int n) {
              return q->list_nodes(which, after, n);
            });
            CHECK(ids == all.matching(f, which));
            found += static_cast<int>(ids.size());
          }
  CHECK(found > 100);
}

TEST_CASE("queries: certificates that nobody renewed, until they are told of") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 20);
  std::vector<ev::node::joined> nodes;
  for (int i = 0; i < 6; ++i) {
    nodes.push_back(f.join(token));
    f.time.advance(seconds{60});
  }
  auto q = f.queries();
  auto due = [&](time_point when, int limit = 100) {
    auto ids = q->nodes_to_warn(when, limit);
    REQUIRE(ids);
    return ids.value();
  };
  auto names = [&](std::vector<int> which) {
    std::vector<std::string> out;
    for (auto i : which)
      out.push_back(nodes.at(static_cast<std::size_t>(i)).id.str());
    return out;
  };
  auto warn_at = [&](int i) {
    return ev::node::warn_from(nodes.at(static_cast<std::size_t>(i)).cert);
  };
  const auto last = warn_at(5);
  CHECK(due(warn_at(0) - milliseconds{1}).empty());
  CHECK(due(warn_at(0)) == names({0}));
  CHECK(due(last) == names({0, 1, 2, 3, 4, 5}));
  CHECK(due(last, 2) == names({0, 1}));
  REQUIRE(f.decide_on(nodes[0], ev::node::warn_of_expiry{last}));
  REQUIRE(f.decide_on(nodes[1], ev::node::revoke_identity{last, ""}));
  REQUIRE(f.decide_on(nodes[2], ev::node::cordon{last, ""}));
  REQUIRE(f.decide_on(nodes[2], ev::node::retire{last, ""}));
  REQUIRE(f.reclaim(nodes[3]));
  q = f.queries();
  CHECK(due(last) == names({4, 5}));
}

TEST_CASE("queries: the gateways that have sessions, and whose") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 20);
  std::vector<ev::node::joined> nodes;
  for (int i = 0; i < 6; ++i)
    nodes.push_back(f.join(token));
  for (std::size_t i = 0; i < 5; ++i)
    f.open_session(nodes[i], "sess_" + std::to_string(i),
                   i < 3 ? "gw_b" : "gw_a");
  f.decide_on(nodes[0], ev::node::disconnect{f.time.now(), "sess_0",
                                             ev::node::session_end::closed});
  f.open_session(nodes[4], "sess_9", "gw_c");
  auto q = f.queries();
  std::vector<std::string> gateways;
  for (std::string after;;) {
    auto next = q->next_gateway(after);
    REQUIRE(next);
    if (!next.value())
      break;
    after = *next.value();
    gateways.push_back(after);
  }
  CHECK(gateways == std::vector<std::string>{"gw_a", "gw_b", "gw_c"});
  auto at = [&](const char* gateway, int limit = 100) {
    return q->nodes_at(gateway, limit).value();
  };
  CHECK(at("gw_a") == std::vector{nodes[3].id.str()});
  CHECK(at("gw_c") == std::vector{nodes[4].id.str()});
  CHECK(at("gw_b").size() == 2);
  CHECK(at("gw_b", 1).size() == 1);
  CHECK(at("gw_d").empty());
}

TEST_CASE("queries: the audit by everything it is asked by") {
  read_model_store f;
  f.random_history(60);
  std::vector<ev::audit_entry> all;
  const auto written = f.store->read_all(0, 100'000).value();
  for (const auto& e : written)
    if (auto entry = ev::audit_of(e).value())
      all.push_back(*entry);
  REQUIRE(all.size() > 40);
  auto q = f.queries();
  const auto& some = all.at(all.size() / 2);
  auto matching = [&](const projections::audit_filter& w) {
    std::vector<std::string> ids;
    for (const auto& e : all)
      if (e.tenant == w.tenant && (w.action.empty() || e.action == w.action) &&
          (w.resource.empty() || e.resource == w.resource) &&
          (w.principal.empty() || e.principal == w.principal) &&
          (w.correlation.empty() || e.correlation == w.correlation) &&
          (!w.from || e.at >= *w.from) && (!w.until || e.at < *w.until))
        ids.push_back(e.id);
    return ids;
  };
  for (int bits = 0; bits < 64; ++bits) {
    projections::audit_filter w;
    w.tenant = some.tenant;
    if ((bits & 1) != 0)
      w.action = f.random.coin() ? some.action : "node.joined";
    if ((bits & 2) != 0)
      w.resource = some.resource;
    if ((bits & 4) != 0)
      w.principal = f.random.coin() ? "alice" : "machine";
    if ((bits & 8) != 0)
      w.correlation = some.correlation;
    if ((bits & 16) != 0)
      w.from = some.at;
    if ((bits & 32) != 0)
      w.until = some.at + milliseconds{1};
    CAPTURE(bits, w.action, w.principal);
    auto want = matching(w);
    for (int limit : {1, 7, 200}) {
      auto list = [&](std::string_view after, int n) {
        return q->list_audit(w, after, n);
      };
      w.newest_first = false;
      CHECK(walk(limit, list) == want);
      w.newest_first = true;
      std::vector<std::string> newest;
      for (std::string after;;) {
        auto page = list(after, limit);
        REQUIRE(page);
        for (const auto& row : page.value().items)
          newest.push_back(row.id);
        if (!page.value().next)
          break;
        after = *page.value().next;
      }
      CHECK(newest == std::vector<std::string>{want.rbegin(), want.rend()});
    }
  }
}

}  // namespace bc::testing
