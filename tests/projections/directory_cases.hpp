#pragma once

#include "base/json.hpp"
#include "tests/projections/query_cases.hpp"

// What lists of sites, pools and tokens show, on every store: who may see what,
// what has ended, and where a page begins. As query_cases.hpp.
namespace bc::testing {

TEST_CASE("queries: a dedicated site is its owner's and one tenant's") {
  read_model_store f;
  auto root = f.add_tenant(), served = f.add_tenant(), late = f.add_tenant();
  auto own = f.add_site(served);
  auto site = f.add_site(root, ev::site::kind::dedicated, served);
  auto shared = f.add_site(root, ev::site::kind::shared);
  auto seen_by = [&](const tenant_id& who) {
    auto q = f.queries();
    return walk(2, [&](std::string_view after, int n) {
      return q->list_sites(who.str(), false, after, n);
    });
  };
  auto ids = [](std::vector<site_id> sites) {
    std::vector<std::string> out;
    for (const auto& s : sites)
      out.push_back(s.str());
    std::sort(out.begin(), out.end());
    return out;
  };
  CHECK(seen_by(root) == ids({site, shared}));
  CHECK(seen_by(served) == ids({own, site, shared}));
  CHECK(seen_by(late) == ids({shared}));
  f.change_site(site, root, ev::site::update{std::nullopt, late, f.time.now()});
  CHECK(seen_by(root) == ids({site, shared}));
  CHECK(seen_by(served) == ids({own, shared}));
  CHECK(seen_by(late) == ids({site, shared}));
  f.change_site(site, root, ev::site::update{"alone", root, f.time.now()});
  CHECK(seen_by(root) == ids({site, shared}));
  CHECK(seen_by(late) == ids({shared}));
  // Another name hides nothing.
  f.change_site(shared, root,
                ev::site::update{"metro", std::nullopt, f.time.now()});
  CHECK(seen_by(late) == ids({shared}));
  CHECK(ask(*f.connect(), "select count(*) from tenant_access") == "3");
}

TEST_CASE("queries: who may see what has a row for each") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto shared = f.add_site(tenant, ev::site::kind::shared);
  auto pool = f.add_pool(tenant, site);
  auto j = f.join(f.add_token(tenant, pool, site));
  auto rows = [&](const std::string& kind, const std::string& who,
                  const std::string& resource) {
    const auto text = "select count(*) from tenant_access where kind = '" +
                      kind + "' and tenant = '" + who + "' and resource = '" +
                      resource + "'";
    return ask(*f.connect(), text);
  };
  CHECK(rows("site", tenant.str(), site.str()) == "1");
  CHECK(rows("site", "*", shared.str()) == "1");
  CHECK(rows("site", tenant.str(), shared.str()) == "0");
  CHECK(rows("pool", tenant.str(), pool.str()) == "1");
  CHECK(rows("node", tenant.str(), j.id.str()) == "1");
  CHECK(ask(*f.connect(), "select count(*) from tenant_access") == "4");
  // A node that comes back is one node.
  REQUIRE(f.reclaim(j));
  CHECK(ask(*f.connect(), "select count(*) from tenant_access") == "4");
}

TEST_CASE("queries: what ended is listed when it is asked for") {
  read_model_store f;
  auto tenant = f.add_tenant();
  std::vector<std::string> sites, pools, live_sites, live_pools;
  auto host = f.add_site(tenant);
  sites.push_back(host.str());
  live_sites.push_back(host.str());
  ev::pool::policy rules{{"tpm"}, true, {"burn-in"}};
  for (int i = 0; i < 9; ++i) {
    auto site = f.add_site(tenant);
    auto pool = f.add_pool(tenant, host);
    sites.push_back(site.str());
    pools.push_back(pool.str());
    if (i % 2 == 0) {
      f.change_site(site, tenant, ev::site::remove{f.time.now()});
      f.change_pool(pool, tenant, ev::pool::archive{f.time.now()});
    } else {
      f.change_site(site, tenant,
                    ev::site::update{"s" + std::to_string(i), std::nullopt,
                                     f.time.now()});
      f.change_pool(
          pool, tenant,
          ev::pool::update{"p" + std::to_string(i), ev::pool::agent::none,
                           rules, f.time.now()});
      live_sites.push_back(site.str());
      live_pools.push_back(pool.str());
    }
  }
  for (auto* ids : {&sites, &pools, &live_sites, &live_pools})
    std::sort(ids->begin(), ids->end());
  auto q = f.queries();
  for (int limit : {1, 2, 5, 200})
    for (bool all : {false, true}) {
      CAPTURE(limit, all);
      CHECK(walk(limit, [&](std::string_view after, int n) {
              return q->list_sites(tenant.str(), all, after, n);
            }) == (all ? sites : live_sites));
      CHECK(walk(limit, [&](std::string_view after, int n) {
              return q->list_pools(tenant.str(), all, after, n);
            }) == (all ? pools : live_pools));
    }
  json::writer text;
  put(text, rules);
  auto all_pools = q->list_pools(tenant.str(), true, "", 200);
  for (const auto& row : all_pools.value().items) {
    bool live = !row.archived_at;
    CHECK(row.archived_at.value_or(f.time.now()) == f.time.now());
    CHECK(row.agent == (live ? "none" : "bcd"));
    CHECK(row.policy == (live ? text.str() : "{}"));
    CHECK((row.name.front() == 'p') == live);
  }
  auto all_sites = q->list_sites(tenant.str(), true, "", 200);
  for (const auto& row : all_sites.value().items)
    CHECK(row.deleted_at.value_or(f.time.now()) == f.time.now());
}

TEST_CASE(
    "queries: pages lose and repeat nothing, whatever goes on (case 146)") {
  read_model_store f;
  auto mine = f.add_tenant(), theirs = f.add_tenant();
  auto site = f.add_site(mine);
  auto pool = f.add_pool(mine, site);
  auto their_site = f.add_site(theirs);
  auto their_pool = f.add_pool(theirs, their_site);
  // All of one millisecond, from several processes: in no order of ids.
  std::vector<ev::join_token::created> stay, go;
  std::vector<std::string> kept;
  for (int i = 0; i < 60; ++i) {
    auto t = f.add_token(mine, pool, site, 5);
    (i % 3 == 0 ? go : stay).push_back(t);
    f.add_token(theirs, their_pool, their_site, 5);
  }
  for (const auto& t : stay)
    kept.push_back(t.id.str());
  std::sort(kept.begin(), kept.end());
  auto q = f.queries();
  int limit = GENERATE(1, 7, 200);
  CAPTURE(limit);
  std::vector<std::string> seen;
  std::string after;
  for (int page_no = 0;; ++page_no) {
    auto page = q->list_join_tokens(mine.str(), pool.str(), false, f.time.now(),
                                    after, limit);
    REQUIRE(page);
    for (const auto& row : page.value().items)
      seen.push_back(row.id);
    if (!page.value().next)
      break;
    after = *page.value().next;
    // Meanwhile others come and go; the cursor's own row too.
    if (page_no % 4 == 0 && !go.empty()) {
      f.revoke(go.back());
      go.pop_back();
    }
    if (page_no % 8 == 0)
      f.add_token(mine, pool, site);
    q = f.queries();
  }
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  CHECK(std::includes(seen.begin(), seen.end(), kept.begin(), kept.end()));
}

TEST_CASE("queries: any id is a place to go on from (cases 146, 148)") {
  read_model_store f;
  auto mine = f.add_tenant(), theirs = f.add_tenant();
  auto site = f.add_site(mine), their_site = f.add_site(theirs);
  auto pool = f.add_pool(mine, site),
       their_pool = f.add_pool(theirs, their_site);
  std::vector<std::string> cursors{"", "jt_" + std::string(52, '0'),
                                   "jt_" + std::string(52, 'z'),
                                   "jt_" + std::string(26, 'g')};
  std::vector<std::string> all;
  for (int i = 0; i < 20; ++i) {
    auto t = f.add_token(mine, pool, site);
    all.push_back(t.id.str());
    cursors.push_back(t.id.str());
    cursors.push_back(f.add_token(theirs, their_pool, their_site).id.str());
    cursors.push_back(f.random.hashed_id<join_token_id>().str());
  }
  f.revoke([&] {
    auto gone = f.add_token(mine, pool, site);
    cursors.push_back(gone.id.str());
    return gone;
  }());
  std::sort(all.begin(), all.end());
  auto q = f.queries();
  for (const auto& after : cursors) {
    CAPTURE(after);
    // A cursor of another's, of a revoked or of no token gives what its place
    // in the order gives, and so tells nothing of itself.
    std::vector<std::string> want{
        std::upper_bound(all.begin(), all.end(), after), all.end()};
    auto page = q->list_join_tokens(mine.str(), pool.str(), false, f.time.now(),
                                    after, 200);
    REQUIRE(page);
    std::vector<std::string> got;
    for (const auto& row : page.value().items)
      got.push_back(row.id);
    CHECK(got == want);
  }
}

}  // namespace bc::testing
