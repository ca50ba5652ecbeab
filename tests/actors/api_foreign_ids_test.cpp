// What another tenant owns looks like what does not exist (case 148), also as
// a cursor (case 146).
#include "tests/actors/api_world.hpp"
#include "tests/actors/waiting_machines.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

TEST_CASE("api foreign ids: real or invented, one answer (case 148)") {
  api_world w;
  auto own = fields{{"tenantId", json_string(w.acme.str())}};
  auto token = w.add_token(w.other, w.other_pool, w.other_site).id.str();
  auto agents = w.add_site_token(w.other, w.other_site).str();
  auto node = w.join(w.add_token(w.other, w.other_pool, w.other_site)).id.str();
  auto shared_owner_only = w.add_site(w.root, events::site::kind::shared);
  const std::string zeros(26, '0'), many(52, '0');

  /// A call with an id in it; `real` are all another tenant's.
  struct row {
    std::string method, field;
    std::vector<std::string> real;
    std::string invented;
    fields more;
  };
  fields name{{"name", "\"x\""}};
  fields mint{{"ttlSeconds", "60"}, {"idempotencyKey", "\"k\""}};
  fields in_pool{{"poolId", json_string(w.pool.str())}};
  fields on_site{{"siteId", json_string(w.site.str())}};
  auto waiting =
      test::id_of(
          test::defer_now(w.streams, test::order_of(w.other, w.other_site, "m",
                                                    test::csr_of('a'))))
          .str();
  auto site = w.other_site.str(), pool = w.other_pool.str();
  auto no_site = "site_" + zeros, no_pool = "pool_" + zeros;
  auto no_token = "jt_" + many, no_node = "node_" + zeros;
  auto no_request = "jreq_" + zeros;
  fields of_request{{"requestId", json_string(waiting)}};
  for (const auto& r : std::vector<row>{
           {"sites.get", "siteId", {site}, no_site, {}},
           {"sites.update",
            "siteId",
            {site, shared_owner_only.str()},
            no_site,
            name},
           {"sites.delete",
            "siteId",
            {site, shared_owner_only.str()},
            no_site,
            {}},
           {"pools.create", "siteId", {site}, no_site, name},
           {"pools.get", "poolId", {pool}, no_pool, {}},
           {"pools.update", "poolId", {pool}, no_pool, name},
           {"pools.archive", "poolId", {pool}, no_pool, {}},
           {"joinTokens.create", "poolId", {pool}, no_pool, mint},
           {"joinTokens.list", "poolId", {pool}, no_pool, {}},
           {"joinTokens.revoke", "tokenId", {token, agents}, no_token, in_pool},
           {"siteTokens.create",
            "siteId",
            {site, shared_owner_only.str()},
            no_site,
            mint},
           {"siteTokens.revoke", "tokenId", {token, agents}, no_token, on_site},
           {"joinRequests.list", "poolId", {pool}, no_pool, {}},
           {"joinRequests.approve", "poolId", {pool}, no_pool, of_request},
           {"joinRequests.approve",
            "requestId",
            {waiting},
            no_request,
            in_pool},
           {"joinRequests.reject", "requestId", {waiting}, no_request, in_pool},
           {"nodes.get", "nodeId", {node}, no_node, {}},
           {"nodes.adopt", "nodeId", {node}, no_node, {}},
           {"nodes.cordon", "nodeId", {node}, no_node, {}},
           {"nodes.delete", "nodeId", {node}, no_node, {}},
           {"nodes.revokeIdentity", "nodeId", {node}, no_node, {}},
           {"nodes.revokeByToken", "tokenId", {token, agents}, no_token, {}}}) {
    auto input = own;
    input.insert(r.more.begin(), r.more.end());
    auto before = w.position();
    auto none = w.call(w.acme_key, r.method,
                       with(input, r.field, json_string(r.invented)));
    INFO(r.method << " " << none.text);
    CHECK(none.status == 404);
    CHECK(none.code() == "NOT_FOUND");
    for (const auto& id : r.real)
      CHECK(w.call(w.acme_key, r.method, with(input, r.field, json_string(id)))
                .text == none.text);
    CHECK(w.position() == before);
  }
}

TEST_CASE("api foreign ids: as a cursor they are a place in the order (146)") {
  api_world w;
  for (int i = 0; i < 12; ++i) {
    w.add_site(w.acme);
    w.add_pool(w.acme, w.site);
    w.add_site(w.other);
    w.add_pool(w.other, w.other_site);
  }
  struct list {
    std::string method, prefix;
  };
  for (const auto& l :
       {list{"sites.list", "site_"}, list{"pools.list", "pool_"}}) {
    auto ids = [&](const std::string& key, const tenant_id& who,
                   const std::string& after) {
      fields input{{"tenantId", json_string(who.str())}};
      auto got = w.call(
          key, l.method,
          with(input, "cursor", after.empty() ? "" : json_string(after)));
      CHECK(got.status == 200);
      CHECK_FALSE(got.has("/cursor"));
      return got.ids();
    };
    auto mine = ids(w.acme_key, w.acme, "");
    auto cursors = ids(w.other_key, w.other, "");
    cursors.insert(cursors.end(), mine.begin(), mine.end());
    cursors.push_back(l.prefix + std::string(26, '0'));
    cursors.push_back(l.prefix + std::string(26, 'z'));
    for (const auto& after : cursors) {
      INFO(l.method << " after " << after);
      CHECK(ids(w.acme_key, w.acme, after) ==
            std::vector<std::string>{
                std::upper_bound(mine.begin(), mine.end(), after), mine.end()});
    }
  }
}
