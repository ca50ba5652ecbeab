#pragma once

#include "events/join_request.hpp"
#include "projections/queries.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

// A site where machines wait. The file that includes this one says which store
// it is: bc::testing::read_model_store.
namespace bc::testing {

namespace jr = bc::events::join_request;

namespace {

struct waiting_room {
  explicit waiting_room(read_model_store& store)
      : f(store),
        tenant(f.add_tenant()),
        site(f.add_site(tenant)),
        pool(f.add_pool(tenant, site)),
        neighbour(f.add_pool(tenant, site)) {}

  jr::approve approval(const pool_id& by, seconds ttl = seconds{300}) {
    return {{by, site, true}, "alice", "ok", std::nullopt, ttl, f.time.now()};
  }

  /// A machine that no pool has claimed, known by a trusted hardware key alone.
  jr::opened unclaimed(const site_id& where) {
    auto o = f.random.request_opened();
    o.tenant = tenant;
    o.site = where;
    o.pool.reset();
    o.seen.hardware_key = f.random.hex();
    o.seen.trusted = true;
    o.seen.tpm.reset();
    o.seen.vouch.reset();
    o.at = f.time.now();
    o.expires_at = o.at + seconds{600};
    return o;
  }

  std::vector<std::string> ids(projections::queries& q,
                               const std::string& state, int limit = 200,
                               const std::string& of_site = "own") {
    std::vector<std::string> out;
    std::string after;
    for (;;) {
      auto page = q.list_join_requests(
          {pool.str(), of_site == "own" ? site.str() : of_site, state,
           f.time.now()},
          after, limit);
      REQUIRE(page);
      CHECK(page.value().items.size() <= static_cast<std::size_t>(limit));
      for (const auto& row : page.value().items)
        out.push_back(row.id);
      if (!page.value().next)
        break;
      REQUIRE(!page.value().items.empty());
      CHECK(*page.value().next == page.value().items.back().id);
      after = *page.value().next;
    }
    CHECK(std::ranges::is_sorted(out));
    CHECK(std::ranges::adjacent_find(out) == out.end());
    return out;
  }

  read_model_store& f;
  tenant_id tenant;
  site_id site;
  pool_id pool, neighbour;
};

}  // namespace
}  // namespace bc::testing
