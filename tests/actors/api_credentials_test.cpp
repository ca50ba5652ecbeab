// spec: DESIGN section 9; a credential is listed without its secret and ended
// for ever.

#include "actors/api/read_models.hpp"
#include "events/actor.hpp"
#include "tests/actors/api_world.hpp"
#include "tests/actors/disturbed_ledgers.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

std::string id_of(const std::string& key) {
  return key.substr(0, key.find('.'));
}

fields own(const tenant_id& tenant) {
  return {{"tenantId", json_string(tenant.str())}};
}

reply revoke(api_world& w, const std::string& by, const tenant_id& tenant,
             const std::string& key) {
  return w.call(by, "credentials.revoke",
                with(own(tenant), "credentialId", json_string(id_of(key))));
}

}  // namespace

TEST_CASE("api credentials: a list shows each, and nothing of a secret") {
  api_world w;
  auto ci = w.add_credential(w.acme, "ci",
                             {{"compute:nodes:read", "compute-node/*"}});
  auto got = w.call(w.acme_key, "credentials.list", own(w.acme));
  INFO(got.text);
  CHECK(got.status == 200);
  REQUIRE(got.items() == 2);
  auto at = got.at("/items/0/id") == id_of(ci) ? "/items/0" : "/items/1";
  CHECK(got.at(at + std::string{"/id"}) == id_of(ci));
  CHECK(got.at(at + std::string{"/tenantId"}) == w.acme.str());
  CHECK(got.at(at + std::string{"/principal"}) == "ci");
  CHECK(got.at(at + std::string{"/grants"}) ==
        R"([{"action":"compute:nodes:read","resource":"compute-node/*"}])");
  CHECK(!got.has(at + std::string{"/revokedAt"}));
  auto secret = ci.substr(ci.find('.') + 1);
  CHECK(got.text.find(secret) == std::string::npos);
  CHECK(got.text.find(to_hex(pki::sha256(as_bytes(secret)))) ==
        std::string::npos);
  CHECK(got.text.find("ecret") == std::string::npos);
}

TEST_CASE("api credentials: lists page, and the root tenant lists another's") {
  api_world w;
  for (int i = 0; i < 5; ++i)
    w.add_credential(w.other, "p" + std::to_string(i), {{"*", "*"}});
  auto input = with(own(w.root), "forTenantId", json_string(w.other.str()));
  input["limit"] = "4";
  auto first = w.call(w.root_key, "credentials.list", input);
  REQUIRE(first.items() == 4);
  input["cursor"] = json_string(first.at("/cursor"));
  auto second = w.call(w.root_key, "credentials.list", input);
  CHECK(second.items() == 2);
  CHECK(!second.has("/cursor"));
  for (const auto& page : {first, second})
    for (std::size_t i = 0; i < page.items(); ++i)
      CHECK(page.at("/items/" + std::to_string(i) + "/tenantId") ==
            w.other.str());
  auto theirs = with(own(w.acme), "forTenantId", json_string(w.other.str()));
  CHECK(w.call(w.acme_key, "credentials.list", theirs).code() == "NOT_FOUND");
}

TEST_CASE("api credentials: a revoked one is UNAUTHENTICATED like any other") {
  api_world w;
  auto ci = w.add_credential(w.acme, "ci", {{"*", "*"}});
  CHECK(w.call(ci, "pools.list", own(w.acme)).status == 200);
  auto done = revoke(w, w.acme_key, w.acme, ci);
  INFO(done.text);
  CHECK(done.status == 200);
  CHECK(done.at("/id") == id_of(ci));
  CHECK(done.has("/revokedAt"));
  CHECK(done.at("/position") == std::to_string(w.position()));
  CHECK(done.text.find("ecret") == std::string::npos);
  auto after = w.call(ci, "pools.list", own(w.acme));
  CHECK(after.status == 401);
  CHECK(after.at("/error") ==
        w.raw("Bearer nobody", "pools.list", "{}").at("/error"));
  CHECK(w.call(w.acme_key, "pools.list", own(w.acme)).status == 200);
  auto all = w.call(w.acme_key, "credentials.list", own(w.acme));
  CHECK(all.text.find(done.at("/revokedAt")) != std::string::npos);
}

TEST_CASE("api credentials: a revocation is the tenant's public event") {
  api_world w;
  auto ci = w.add_credential(w.acme, "ci", {{"*", "*"}});
  auto done = revoke(w, w.acme_key, w.acme, ci);
  auto input = with(own(w.acme), "type", "\"security.credential.revoked\"");
  auto got = w.call(w.acme_key, "events.list", input);
  REQUIRE(got.items() == 1);
  CHECK(got.at("/items/0/data/credentialId") == id_of(ci));
  CHECK(got.at("/items/0/data/principal") == "ci");
  CHECK(got.at("/items/0/data/revokedAt") == done.at("/revokedAt"));
  auto last = w.store->read_all(w.position() - 1, 1).value().front();
  CHECK(events::parse_actor(last.actor).principal == "alice");
  CHECK(last.tenant == w.acme.str());
}

TEST_CASE("api credentials: revoking twice is the same answer and one event") {
  api_world w;
  auto ci = w.add_credential(w.acme, "ci", {{"*", "*"}});
  auto first = revoke(w, w.acme_key, w.acme, ci);
  w.time.advance(seconds{90});
  auto before = w.position();
  auto second = revoke(w, w.acme_key, w.acme, ci);
  CHECK(second.status == 200);
  CHECK(second.at("/revokedAt") == first.at("/revokedAt"));
  CHECK(w.position() == before);
  CHECK(w.count("security.credential.revoked") == 1);
}

TEST_CASE("api credentials: of two revocations at once one writes the event") {
  api_world w;
  auto ci = w.add_credential(w.acme, "ci", {{"*", "*"}});
  auto racing = test::interrupt(w);
  racing->meanwhile = [&] { revoke(w, w.acme_key, w.acme, ci); };
  CHECK(revoke(w, w.acme_key, w.acme, ci).status == 200);
  CHECK(w.count("security.credential.revoked") == 1);
}

TEST_CASE(
    "api credentials: who finds one revoked already reads it so afterwards") {
  api_world w;
  auto ci = w.add_credential(w.acme, "ci", {{"*", "*"}});
  auto env = std::make_shared<actors::api_environment>(*w.env);
  env->models = std::make_shared<actors::read_models>();
  // Through another process, which this one's read models do not show yet.
  REQUIRE(revoke(w, w.acme_key, w.acme, ci).status == 200);
  w.env = env;
  auto again = revoke(w, w.acme_key, w.acme, ci);
  REQUIRE(again.status == 200);
  CHECK(env->models->last_of(w.acme.str(), "alice") == w.position());
  CHECK(again.at("/position") == std::to_string(w.position()));
}

TEST_CASE("api credentials: a root credential does not revoke itself") {
  api_world w;
  auto before = w.position();
  auto got = revoke(w, w.root_key, w.root, w.root_key);
  CHECK(got.code() == "INVALID_STATE");
  CHECK(w.position() == before);
  CHECK(w.call(w.root_key, "tenants.list", own(w.root)).status == 200);
  // With another it goes.
  auto other = w.add_credential(w.root, "ops-2", {{"*", "*"}});
  CHECK(revoke(w, other, w.root, w.root_key).status == 200);
  CHECK(w.call(w.root_key, "tenants.list", own(w.root)).status == 401);
}

TEST_CASE("api credentials: two that revoke each other at once leave one") {
  api_world w;
  auto other = w.add_credential(w.root, "ops-2", {{"*", "*"}});
  auto racing = test::interrupt(w);
  racing->meanwhile = [&] {
    CHECK(revoke(w, other, w.root, w.root_key).status == 200);
  };
  CHECK(revoke(w, w.root_key, w.root, other).code() == "UNAUTHENTICATED");
  CHECK(w.call(other, "tenants.list", own(w.root)).status == 200);
  CHECK(w.count("security.credential.revoked") == 1);
}

TEST_CASE("api credentials: a tenant's may revoke itself; root makes another") {
  api_world w;
  CHECK(revoke(w, w.acme_key, w.acme, w.acme_key).status == 200);
  CHECK(w.call(w.acme_key, "pools.list", own(w.acme)).status == 401);
  auto input = with(own(w.root), "forTenantId", json_string(w.acme.str()));
  input["principal"] = "\"alice\"";
  input["grants"] = R"([{"action":"*","resource":"*"}])";
  auto made = w.call(w.root_key, "credentials.create", input);
  CHECK(w.call(made.at("/credential"), "pools.list", own(w.acme)).status ==
        200);
}

TEST_CASE("api credentials: what another tenant owns is NOT_FOUND") {
  api_world w;
  auto before = w.position();
  CHECK(revoke(w, w.acme_key, w.acme, w.other_key).code() == "NOT_FOUND");
  CHECK(revoke(w, w.root_key, w.root, w.other_key).code() == "NOT_FOUND");
  auto theirs = with(own(w.acme), "forTenantId", json_string(w.other.str()));
  theirs["credentialId"] = json_string(id_of(w.other_key));
  CHECK(w.call(w.acme_key, "credentials.revoke", theirs).code() == "NOT_FOUND");
  auto nobody = "bck_" + std::string(26, '0');
  CHECK(revoke(w, w.acme_key, w.acme, nobody).code() == "NOT_FOUND");
  CHECK(w.position() == before);
  theirs["tenantId"] = json_string(w.root.str());
  CHECK(w.call(w.root_key, "credentials.revoke", theirs).status == 200);
  CHECK(w.call(w.other_key, "pools.list", own(w.other)).status == 401);
}

TEST_CASE(
    "api credentials: an id is an id, never a whole credential (case 4)") {
  api_world w;
  auto whole = with(own(w.acme), "credentialId", json_string(w.acme_key));
  auto got = w.call(w.acme_key, "credentials.revoke", whole);
  CHECK(got.code() == "INVALID_INPUT");
  CHECK(got.path() == "/credentialId");
  CHECK(got.text.find(w.acme_key.substr(w.acme_key.find('.') + 1)) ==
        std::string::npos);
}

TEST_CASE("api credentials: a grant that opens nothing is INVALID_INPUT") {
  api_world w;
  auto create = [&](const std::string& action, const std::string& resource) {
    auto input = with(own(w.acme), "principal", "\"bob\"");
    input["grants"] = R"([{"action":"*","resource":"*"},{"action":)" +
                      json_string(action) + R"(,"resource":)" +
                      json_string(resource) + "}]";
    return w.call(w.acme_key, "credentials.create", input);
  };
  struct row {
    const char* action;
    const char* resource;
    const char* path;  // empty: good
  };
  for (const auto& r : std::vector<row>{
           {"*", "*", ""},
           {"compute:*", "*", ""},
           {"compute:join-tokens:*", "compute-pool/*", ""},
           {"compute:join-tokens:create", "compute-pool/pool_01", ""},
           {"compute:nodes:read", "compute-node/*", ""},
           {"compute:credentials:revoke", "compute-tenant/ten_1", ""},
           {"*", "compute-site/*", ""},
           {"compute:join-token:create", "*", "/grants/1/action"},
           {"compute:nodes:write", "compute-node/*", "/grants/1/action"},
           {"computer:*", "*", "/grants/1/action"},
           {"compute", "*", "/grants/1/action"},
           {"compute:nodes:read", "compute-pool/*", "/grants/1/resource"},
           {"compute:join-tokens:*", "compute-node/*", "/grants/1/resource"},
           {"*", "compute-pol/*", "/grants/1/resource"},
           {"*", "compute-pool", "/grants/1/resource"},
           {"*", "compute-pool/", "/grants/1/resource"},
           {"*", "compute-pool/a:*", "/grants/1/resource"},
           {"*", "compute-pool/a/b", "/grants/1/resource"},
           {"*", "pool_01", "/grants/1/resource"}}) {
    INFO(r.action << " on " << r.resource);
    auto got = create(r.action, r.resource);
    INFO(got.text);
    if (std::string_view{r.path}.empty()) {
      CHECK(got.status == 200);
      continue;
    }
    CHECK(got.code() == "INVALID_INPUT");
    CHECK(got.path() == r.path);
  }
}
