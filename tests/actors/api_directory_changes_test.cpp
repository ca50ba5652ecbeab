// Sites and pools that change and end (DESIGN section 10; seeds: sites are
// boot and failure domains, platform ones belong to the root tenant).
#include "tests/actors/api_world.hpp"

#include <catch2/catch.hpp>

#include <regex>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

fields own(const tenant_id& tenant) {
  return {{"tenantId", json_string(tenant.str())}};
}

fields of_site(const tenant_id& tenant, const std::string& site) {
  return with(own(tenant), "siteId", json_string(site));
}

fields of_pool(const tenant_id& tenant, const std::string& pool) {
  return with(own(tenant), "poolId", json_string(pool));
}

// A record without what a mutation's answer adds.
std::string record_of(const reply& r) {
  return std::regex_replace(r.text, std::regex{",\"position\":[0-9]+"}, "");
}

reply make_site(api_world& w, const std::string& key, const tenant_id& tenant,
                const std::string& name, const std::string& kind,
                const std::string& dedicated_to = {}) {
  auto input = with(with(own(tenant), "name", json_string(name)), "kind",
                    kind.empty() ? "" : json_string(kind));
  return w.call(key, "sites.create",
                with(input, "dedicatedTo",
                     dedicated_to.empty() ? "" : json_string(dedicated_to)));
}

}  // namespace

TEST_CASE("api directory: platform sites are the root tenant's to make") {
  api_world w;
  CHECK(make_site(w, w.root_key, w.root, "a", "").at("/kind") == "dedicated");
  CHECK(make_site(w, w.root_key, w.root, "b", "shared").at("/kind") ==
        "shared");
  CHECK(make_site(w, w.root_key, w.root, "c", "custom").at("/kind") ==
        "custom");
  CHECK(make_site(w, w.acme_key, w.acme, "a", "").at("/kind") == "custom");
  for (const auto* kind : {"shared", "dedicated"}) {
    auto before = w.position();
    auto got = make_site(w, w.acme_key, w.acme, "x", kind);
    CHECK(got.status == 403);
    CHECK(got.code() == "ACCESS_DENIED");
    CHECK(w.position() == before);
  }
}

TEST_CASE("api directory: a dedicated site is seen by the tenant it serves") {
  api_world w;
  auto site = make_site(w, w.root_key, w.root, "metro", "", w.acme.str());
  INFO(site.text);
  REQUIRE(site.status == 200);
  CHECK(site.at("/dedicatedTo") == w.acme.str());
  auto id = site.at("/id");
  auto sees = [&](const std::string& key, const tenant_id& tenant) {
    auto got = w.call(key, "sites.get", of_site(tenant, id));
    auto ids = w.call(key, "sites.list", own(tenant)).ids();
    bool listed = std::count(ids.begin(), ids.end(), id) == 1;
    CHECK(listed == (got.status == 200));
    return listed;
  };
  auto may_build = [&](const std::string& key, const tenant_id& tenant) {
    auto got = w.call(key, "pools.create",
                      with(of_site(tenant, id), "name",
                           json_string("p" + std::to_string(w.position()))));
    CHECK((got.status == 200 || got.code() == "NOT_FOUND"));
    return got.status == 200;
  };
  CHECK(sees(w.root_key, w.root));
  CHECK(sees(w.acme_key, w.acme));
  CHECK_FALSE(sees(w.other_key, w.other));
  CHECK(may_build(w.acme_key, w.acme));
  CHECK_FALSE(may_build(w.other_key, w.other));

  // It changes hands, and then serves its owner alone.
  auto moved = w.call(
      w.root_key, "sites.update",
      with(of_site(w.root, id), "dedicatedTo", json_string(w.other.str())));
  CHECK(moved.at("/dedicatedTo") == w.other.str());
  CHECK_FALSE(sees(w.acme_key, w.acme));
  CHECK(sees(w.other_key, w.other));
  CHECK(sees(w.root_key, w.root));
  CHECK_FALSE(may_build(w.acme_key, w.acme));
  // Nothing could join through a pool it has there.
  auto there = w.call(w.acme_key, "pools.list", own(w.acme));
  auto built = there.at("/items/0/siteId") == id ? there.at("/items/0/id")
                                                 : there.at("/items/1/id");
  auto ask = with(own(w.acme), "poolId", json_string(built));
  ask["ttlSeconds"] = "60";
  ask["idempotencyKey"] = json_string("moved");
  CHECK(w.call(w.acme_key, "joinTokens.create", ask).code() == "INVALID_STATE");
  auto alone = w.call(
      w.root_key, "sites.update",
      with(of_site(w.root, id), "dedicatedTo", json_string(w.root.str())));
  CHECK_FALSE(alone.has("/dedicatedTo"));
  CHECK_FALSE(sees(w.other_key, w.other));
  CHECK(sees(w.root_key, w.root));
  // The tenant it served keeps what it built.
  CHECK(w.call(w.acme_key, "pools.list", own(w.acme)).items() == 2);

  SECTION("to nobody that is not there, and only a dedicated one") {
    auto nobody = "ten_" + std::string(26, '0');
    CHECK(make_site(w, w.root_key, w.root, "n", "", nobody).code() ==
          "NOT_FOUND");
    CHECK(make_site(w, w.root_key, w.root, "n", "", "acme").code() ==
          "NOT_FOUND");
    CHECK(w.call(w.root_key, "sites.update",
                 with(of_site(w.root, id), "dedicatedTo", json_string(nobody)))
              .code() == "NOT_FOUND");
    auto shared = make_site(w, w.root_key, w.root, "s", "shared");
    CHECK(w.call(w.root_key, "sites.update",
                 with(of_site(w.root, shared.at("/id")), "dedicatedTo",
                      json_string(w.acme.str())))
              .path() == "/dedicatedTo");
    CHECK(make_site(w, w.acme_key, w.acme, "n", "", w.other.str()).path() ==
          "/dedicatedTo");
  }
  SECTION("the tenant it serves does not change it") {
    auto served = make_site(w, w.root_key, w.root, "t", "", w.acme.str());
    for (const auto* method : {"sites.update", "sites.delete"})
      CHECK(w.call(w.acme_key, method, of_site(w.acme, served.at("/id")))
                .code() == "NOT_FOUND");
  }
}

TEST_CASE("api directory: a name moves with an update and is free afterwards") {
  api_world w;
  struct kind {
    std::string group, field, end;
  };
  for (const auto& k : {kind{"sites", "siteId", "sites.delete"},
                        {"pools", "poolId", "pools.archive"}}) {
    INFO(k.group);
    auto make = [&](const std::string& name) {
      auto input = with(own(w.acme), "name", json_string(name));
      if (k.group == "pools")
        input = with(input, "siteId", json_string(w.site.str()));
      return w.call(w.acme_key, k.group + ".create", input);
    };
    auto rename = [&](const std::string& id, const std::string& name) {
      return w.call(w.acme_key, k.group + ".update",
                    with(with(own(w.acme), k.field, json_string(id)), "name",
                         json_string(name)));
    };
    auto a = make("a").at("/id");
    auto b = make("b").at("/id");
    auto taken = rename(b, "a");
    CHECK(taken.code() == "ALREADY_EXISTS");
    CHECK(taken.path() == "/name");
    auto renamed = rename(a, "c");
    INFO(renamed.text);
    CHECK(renamed.at("/name") == "c");
    CHECK(renamed.at("/position") == std::to_string(w.position()));
    CHECK(rename(b, "a").status == 200);
    CHECK(make("a").code() == "ALREADY_EXISTS");
    CHECK(make("b").status == 200);
    CHECK(w.call(w.acme_key, k.group + ".get",
                 with(own(w.acme), k.field, json_string(a)))
              .text == record_of(renamed));

    auto end = [&] {
      return w.call(w.acme_key, k.end,
                    with(own(w.acme), k.field, json_string(a)));
    };
    REQUIRE(end().status == 200);
    CHECK(make("c").status == 200);
  }
}

TEST_CASE("api directory: an update that changes nothing writes nothing") {
  api_world w;
  auto pool = of_pool(w.acme, w.pool.str());
  auto policy = R"({"joinAttestors":["tpm"],"acceptance":{"checks":["a"]}})";
  auto first = w.call(w.acme_key, "pools.update", with(pool, "policy", policy));
  INFO(first.text);
  CHECK(first.at("/policy") == policy);
  auto before = w.position();
  for (const auto& same :
       {pool, with(pool, "policy", policy), with(pool, "agent", "\"bcd\""),
        with(pool, "name", json_string(first.at("/name")))}) {
    auto got = w.call(w.acme_key, "pools.update", same);
    CHECK(record_of(got) == record_of(first));
  }
  CHECK(w.call(w.acme_key, "sites.update", of_site(w.acme, w.site.str()))
            .status == 200);
  CHECK(w.position() == before);
  auto cleared = w.call(w.acme_key, "pools.update", with(pool, "policy", "{}"));
  CHECK(cleared.at("/policy") == "{}");
  CHECK(w.call(w.acme_key, "pools.list", own(w.acme)).at("/items/0/policy") ==
        "{}");
}

TEST_CASE("api directory: a site ends once") {
  api_world w;
  auto input = of_site(w.acme, w.site.str());
  auto pool =
      w.call(w.acme_key, "pools.create", with(input, "name", "\"before\""));
  REQUIRE(pool.status == 200);
  w.time.advance(seconds{7});
  auto first = w.call(w.acme_key, "sites.delete", input);
  INFO(first.text);
  REQUIRE(first.status == 200);
  CHECK(first.at("/deletedAt") == "2026-11-29T12:00:07.000Z");
  w.time.advance(seconds{7});
  auto before = w.position();
  CHECK(w.call(w.acme_key, "sites.delete", input).text == first.text);
  CHECK(
      w.call(w.acme_key, "sites.update", with(input, "name", "\"x\"")).code() ==
      "INVALID_STATE");
  CHECK(w.call(w.acme_key, "pools.create", with(input, "name", "\"after\""))
            .code() == "INVALID_STATE");
  CHECK(w.call(w.acme_key, "siteTokens.create",
               with(with(input, "ttlSeconds", "60"), "idempotencyKey", "\"k\""))
            .code() == "INVALID_STATE");
  CHECK(w.position() == before);
  CHECK(w.count("site.deleted") == 1);

  // It is seen when it is asked for.
  CHECK(w.call(w.acme_key, "sites.get", input).text == record_of(first));
  CHECK(w.call(w.acme_key, "sites.list", own(w.acme)).items() == 0);
  auto all = w.call(w.acme_key, "sites.list",
                    with(own(w.acme), "includeDeleted", "true"));
  CHECK(all.at("/items/0") == record_of(first));
}

TEST_CASE("api directory: a pool ends once") {
  api_world w;
  auto input = of_pool(w.acme, w.pool.str());
  w.time.advance(seconds{7});
  auto first = w.call(w.acme_key, "pools.archive", input);
  INFO(first.text);
  REQUIRE(first.status == 200);
  CHECK(first.at("/archivedAt") == "2026-11-29T12:00:07.000Z");
  auto before = w.position();
  CHECK(w.call(w.acme_key, "pools.archive", input).text == first.text);
  CHECK(
      w.call(w.acme_key, "pools.update", with(input, "name", "\"x\"")).code() ==
      "INVALID_STATE");
  CHECK(w.position() == before);
  CHECK(w.count("pool.archived") == 1);
  CHECK(w.call(w.acme_key, "pools.get", input).text == record_of(first));
  CHECK(w.call(w.acme_key, "pools.list", own(w.acme)).items() == 0);
  auto all = w.call(w.acme_key, "pools.list",
                    with(own(w.acme), "includeArchived", "true"));
  CHECK(all.at("/items/0") == record_of(first));
}

TEST_CASE("api directory: what changed is told to its owner alone") {
  api_world w;
  auto site = of_site(w.acme, w.site.str());
  auto pool = of_pool(w.acme, w.pool.str());
  auto start = w.call(w.acme_key, "events.list", own(w.acme)).at("/cursor");
  w.call(w.acme_key, "sites.update", with(site, "name", "\"fra\""));
  w.call(w.acme_key, "pools.update",
         with(pool, "policy", R"({"kubernetes":{"platformOperated":true}})"));
  w.call(w.acme_key, "pools.archive", pool);
  w.call(w.acme_key, "sites.delete", site);
  auto told = w.call(w.acme_key, "events.list",
                     with(own(w.acme), "cursor", json_string(start)));
  REQUIRE(told.items() == 4);
  CHECK(told.at("/items/0/type") == "site.updated");
  CHECK(told.at("/items/0/data/name") == "fra");
  CHECK(told.at("/items/1/type") == "pool.updated");
  CHECK(told.at("/items/1/data/policy/kubernetes/platformOperated") == "true");
  CHECK(told.at("/items/2/type") == "pool.archived");
  CHECK(told.at("/items/2/data/poolId") == w.pool.str());
  CHECK(told.at("/items/3/type") == "site.deleted");
  CHECK(told.at("/items/3/data/siteId") == w.site.str());
  for (const auto& key : {w.other_key, w.root_key}) {
    const auto& who = key == w.root_key ? w.root : w.other;
    for (const auto* type :
         {"site.updated", "site.deleted", "pool.updated", "pool.archived"})
      CHECK(
          w.call(key, "events.list", with(own(who), "type", json_string(type)))
              .items() == 0);
  }
}
