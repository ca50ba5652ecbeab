#include "tests/actors/api_world.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

fields own(const tenant_id& tenant) {
  return {{"tenantId", json_string(tenant.str())}};
}

std::string grant_text(const std::string& action, const std::string& resource) {
  return "[{\"action\":" + json_string(action) +
         ",\"resource\":" + json_string(resource) + "}]";
}

}  // namespace

TEST_CASE("api directory: root makes a tenant and its first credential") {
  api_world w;
  auto tenant = w.call(w.root_key, "tenants.create",
                       with(own(w.root), "name", "\"initech\""));
  INFO(tenant.text);
  REQUIRE(tenant.status == 200);
  CHECK(tenant.at("/name") == "initech");
  CHECK(tenant.at("/root") == "false");
  CHECK(tenant.at("/position") == std::to_string(w.position()));
  CHECK(w.call(w.root_key, "tenants.create",
               with(own(w.root), "name", "\"initech\""))
            .code() == "ALREADY_EXISTS");

  auto id = json_string(tenant.at("/id"));
  auto key = w.call(w.root_key, "credentials.create",
                    {{"tenantId", json_string(w.root.str())},
                     {"forTenantId", id},
                     {"principal", "\"peter\""},
                     {"grants", grant_text("*", "*")}});
  INFO(key.text);
  REQUIRE(key.status == 200);
  CHECK(key.at("/tenantId") == tenant.at("/id"));
  auto bearer = key.at("/credential");
  auto site = w.call(bearer, "sites.create",
                     {{"tenantId", id}, {"name", "\"austin\""}});
  CHECK(site.status == 200);
  CHECK(site.at("/kind") == "custom");
  auto pool = w.call(bearer, "pools.create",
                     {{"tenantId", id},
                      {"siteId", json_string(site.at("/id"))},
                      {"name", "\"gpu\""}});
  CHECK(pool.status == 200);
  CHECK(pool.at("/agent") == "bcd");
  CHECK(w.call(bearer, "joinTokens.create",
               {{"tenantId", id},
                {"poolId", json_string(pool.at("/id"))},
                {"ttlSeconds", "60"},
                {"idempotencyKey", "\"k\""}})
            .status == 200);
  CHECK(w.call(w.root_key, "credentials.create",
               {{"tenantId", json_string(w.root.str())},
                {"forTenantId", json_string("ten_" + std::string(26, '0'))},
                {"principal", "\"peter\""},
                {"grants", grant_text("*", "*")}})
            .code() == "NOT_FOUND");
}

TEST_CASE("api directory: names are unique for each owner") {
  api_world w;
  auto site = [&](const std::string& key, const tenant_id& tenant) {
    return w.call(key, "sites.create", with(own(tenant), "name", "\"dc1\""));
  };
  CHECK(site(w.acme_key, w.acme).status == 200);
  auto again = site(w.acme_key, w.acme);
  CHECK(again.status == 409);
  CHECK(again.code() == "ALREADY_EXISTS");
  CHECK(again.path() == "/name");
  CHECK(site(w.other_key, w.other).status == 200);

  auto pool = [&](const std::string& key, const tenant_id& tenant,
                  const site_id& where) {
    return w.call(key, "pools.create",
                  with(with(own(tenant), "name", "\"p\""), "siteId",
                       json_string(where.str())));
  };
  CHECK(pool(w.acme_key, w.acme, w.site).status == 200);
  CHECK(pool(w.acme_key, w.acme, w.site).code() == "ALREADY_EXISTS");
  CHECK(pool(w.other_key, w.other, w.other_site).status == 200);
}

TEST_CASE("api directory: a shared site is everybody's to build pools on") {
  api_world w;
  auto shared = w.call(
      w.root_key, "sites.create",
      with(with(own(w.root), "name", "\"metro\""), "kind", "\"shared\""));
  REQUIRE(shared.status == 200);
  auto id = json_string(shared.at("/id"));
  CHECK(w.call(w.acme_key, "sites.get", with(own(w.acme), "siteId", id))
            .at("/kind") == "shared");
  CHECK(w.call(w.acme_key, "sites.list", own(w.acme)).items() == 2);
  CHECK(w.call(w.acme_key, "pools.create",
               with(with(own(w.acme), "name", "\"p\""), "siteId", id))
            .at("/siteId") == shared.at("/id"));
}

TEST_CASE("api directory: get, list and create show one record alike") {
  api_world w;
  auto made = w.call(w.acme_key, "pools.create",
                     with(with(own(w.acme), "name", "\"p\""), "siteId",
                          json_string(w.site.str())));
  auto got = w.call(w.acme_key, "pools.get",
                    with(own(w.acme), "poolId", json_string(made.at("/id"))));
  auto list = w.call(w.acme_key, "pools.list", own(w.acme));
  REQUIRE(list.items() == 2);
  auto row = list.ids().front() == made.at("/id") ? "/items/0" : "/items/1";
  CHECK(list.at(row) == got.text);
  auto same = made.text.substr(0, made.text.find(",\"position\"")) + "}";
  CHECK(same == got.text);
}

TEST_CASE("api directory: lists page with limit and cursor") {
  api_world w;
  for (int i = 0; i < 4; ++i) {
    w.add_pool(w.acme, w.site);
    w.add_site(w.acme);
    w.join(w.add_token(w.acme, w.pool, w.site));
    w.add_tenant();
  }
  w.join(w.add_token(w.other, w.other_pool, w.other_site));
  struct list {
    std::string method;
    std::size_t total;
    bool root = false;
  };
  for (const auto& l : {list{"pools.list", 5},
                        {"sites.list", 5},
                        {"nodes.list", 4},
                        {"tenants.list", 7, true}}) {
    INFO(l.method);
    auto key = l.root ? w.root_key : w.acme_key;
    auto input = with(own(l.root ? w.root : w.acme), "limit", "2");
    std::vector<std::string> all;
    for (int pages = 0; pages < 10; ++pages) {
      auto page = w.call(key, l.method, input);
      REQUIRE(page.status == 200);
      CHECK(page.items() <= 2);
      auto ids = page.ids();
      all.insert(all.end(), ids.begin(), ids.end());
      if (!page.has("/cursor"))
        break;
      input["cursor"] = json_string(page.at("/cursor"));
    }
    CHECK(all.size() == l.total);
    CHECK(std::is_sorted(all.begin(), all.end()));
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  }
}

TEST_CASE("api directory: nodes come with their certificates") {
  api_world w;
  auto joined = w.join(w.add_token(w.acme, w.pool, w.site));
  w.adopt(joined);
  auto got = w.call(w.acme_key, "nodes.get",
                    with(own(w.acme), "nodeId", json_string(joined.id.str())));
  INFO(got.text);
  CHECK(got.at("/id") == joined.id.str());
  CHECK(got.at("/status") == "adopted");
  CHECK(got.has("/adoptedAt"));
  CHECK(got.at("/certificate/serial") == joined.cert.serial);
  CHECK(got.at("/certificates/0/serial") == joined.cert.serial);
  auto in = with(own(w.acme), "poolId", json_string(w.pool.str()));
  CHECK(w.call(w.acme_key, "nodes.list", in).items() == 1);
  in["poolId"] = json_string(w.add_pool(w.acme, w.site).str());
  CHECK(w.call(w.acme_key, "nodes.list", in).items() == 0);
  in["poolId"] = "\"no-such\"";
  CHECK(w.call(w.acme_key, "nodes.list", in).items() == 0);
}

TEST_CASE("api directory: a credential grants no more than its maker holds") {
  api_world w;
  auto on_pool = "compute-pool/" + w.pool.str();
  auto maker =
      w.add_credential(w.acme, "lead",
                       {{"compute:credentials:create", "compute-tenant/*"},
                        {"compute:join-tokens:*", "compute-pool/*"},
                        {"compute:pools:read", on_pool}});
  struct row {
    std::string action, resource;
    int status;
  };
  for (const auto& r :
       std::vector<row>{{"compute:join-tokens:*", "compute-pool/*", 200},
                        {"compute:join-tokens:create", "compute-pool/*", 200},
                        {"compute:join-tokens:*", on_pool, 200},
                        {"compute:join-tokens:read", on_pool, 200},
                        {"compute:pools:read", on_pool, 200},
                        {"compute:credentials:create",
                         "compute-tenant/" + w.acme.str(), 200},
                        {"*", "*", 403},
                        {"*", on_pool, 403},
                        {"compute:*", "compute-pool/*", 403},
                        {"compute:join-tokens:*", "*", 403},
                        {"compute:join-tokens:*", "compute-site/*", 400},
                        {"compute:pools:read", "compute-pool/*", 403},
                        {"compute:pools:*", on_pool, 403},
                        {"compute:join-tokens-x:create", "compute-pool/*", 400},
                        {"compute:nodes:read", "compute-node/*", 403}}) {
    INFO(r.action << " on " << r.resource);
    auto before = w.position();
    auto got = w.call(maker, "credentials.create",
                      {{"tenantId", json_string(w.acme.str())},
                       {"principal", "\"ci\""},
                       {"grants", grant_text(r.action, r.resource)}});
    INFO(got.text);
    CHECK(got.status == r.status);
    CHECK((w.position() == before) == (r.status != 200));
    CHECK(got.has("/credential") == (r.status == 200));
  }
  // One grant that is not covered is enough.
  auto mixed = w.call(
      maker, "credentials.create",
      {{"tenantId", json_string(w.acme.str())},
       {"principal", "\"ci\""},
       {"grants", "[{\"action\":\"compute:join-tokens:read\",\"resource\":" +
                      json_string(on_pool) +
                      "},{\"action\":\"*\",\"resource\":\"*\"}]"}});
  CHECK(mixed.code() == "ACCESS_DENIED");
}
