// What each method answers, held against schema/api/answers/. Every other API
// test does the same with each of its calls (api_world::raw).

#include "actors/api/method_table.hpp"
#include "tests/actors/answer_schema.hpp"
#include "tests/actors/api_world.hpp"
#include "tests/actors/waiting_machines.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>

using namespace bc;
using namespace bc::api_test;

namespace {

std::string full_name(const actors::api::method_info& m) {
  return std::string{m.group} + "." + std::string{m.name};
}

const answer_schema& schema_of(const std::string& method) {
  const auto* found = answer_schema::of("api/answers/" + method + ".json");
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("api answers: every method has the schema of its answer") {
  std::set<std::string> methods;
  for (const auto& m : actors::api::method_table()) {
    INFO(full_name(m));
    CHECK(methods.insert(full_name(m)).second);
    CHECK(answer_schema::of("api/answers/" + full_name(m) + ".json"));
    CHECK(!schema::text_of("api/" + full_name(m) + ".json").empty());
  }
  for (const auto& file : schema::files) {
    constexpr std::string_view folder = "api/answers/";
    if (!file.name.starts_with(folder))
      continue;
    INFO(file.name);
    auto name = file.name.substr(folder.size());
    name.remove_suffix(std::string_view{".json"}.size());
    CHECK(answer_schema::of(std::string{file.name}));
    if (name.find('.') != name.npos)
      CHECK(methods.count(std::string{name}) == 1);
  }
}

TEST_CASE("api answers: a change answers its position, a read does not") {
  for (const auto& m : actors::api::method_table()) {
    INFO(full_name(m));
    auto fault = schema_of(full_name(m)).fault_of(R"({"position":0})");
    // Closed as they are here, a read's schema refuses the field's name.
    CHECK((fault == "/position breaks minimum") == !m.reads);
  }
}

TEST_CASE("api answers: a field without a schema is a fault") {
  const auto& site = schema_of("sites.get");
  const std::string fields =
      R"("tenantId":"ten_00000000000000000000000000","name":"a",)"
      R"("kind":"custom","createdAt":"2026-01-01T00:00:00.000Z")";
  const std::string good =
      R"({"id":"site_00000000000000000000000000",)" + fields;
  CHECK(site.fault_of(good + "}") == "");
  CHECK(site.fault_of(good + R"(,"more":1})") ==
        "/more breaks additionalProperties");
  CHECK(site.fault_of("{" + fields + "}") == " breaks required");
  CHECK(site.fault_of(R"({"id":"ten_00000000000000000000000000",)" + fields +
                      "}") == "/id breaks pattern");
  const auto& page = schema_of("sites.list");
  CHECK(page.fault_of(R"({"items":[)" + good + R"(}],"cursor":"x"})") == "");
  CHECK(page.fault_of(R"({"items":[)" + good + R"(,"more":1}]})") ==
        "/items/0/more breaks additionalProperties");
  CHECK(page.fault_of(R"({"items":[],"more":1})") ==
        "/more breaks additionalProperties");
}

TEST_CASE("api answers: every method, as it answers") {
  api_world w;
  auto root = json_string(w.root.str()), tenant = json_string(w.acme.str());
  auto site = json_string(w.site.str()), pool = json_string(w.pool.str());
  auto node = w.join(w.add_token(w.acme, w.pool, w.site)).id.str();
  std::set<std::string> answered;
  auto good = [&](const std::string& key, const std::string& method,
                  const fields& input) {
    auto got = w.call(key, method, input);
    INFO(method << " " << got.text);
    CHECK(got.status == 200);
    answered.insert(method);
    return got;
  };
  fields own{{"tenantId", tenant}};

  good(w.root_key, "tenants.create", {{"tenantId", root}, {"name", "\"t\""}});
  good(w.root_key, "tenants.list", {{"tenantId", root}});
  good(w.acme_key, "sites.create", with(own, "name", "\"s\""));
  good(w.acme_key, "sites.get", with(own, "siteId", site));
  good(w.acme_key, "sites.list", own);
  good(w.acme_key, "pools.create",
       with(with(own, "siteId", site), "name", "\"p\""));
  good(w.acme_key, "sites.update",
       with(with(own, "siteId", site), "name", "\"s2\""));
  good(w.root_key, "sites.create",
       {{"tenantId", root}, {"name", "\"d\""}, {"dedicatedTo", tenant}});
  good(
      w.acme_key, "pools.update",
      with(
          with(own, "poolId", pool), "policy",
          R"({"joinAttestors":["tpm","join-token"],"acceptance":)"
          R"({"checks":["burn-in"]},"kubernetes":{"platformOperated":true}})"));
  good(w.acme_key, "pools.archive",
       with(own, "poolId", json_string(w.add_pool(w.acme, w.site).str())));
  good(w.acme_key, "sites.delete",
       with(own, "siteId", json_string(w.add_site(w.acme).str())));
  auto for_agents = with(with(with(own, "siteId", site), "ttlSeconds", "60"),
                         "idempotencyKey", "\"agents\"");
  auto of_site = good(w.acme_key, "siteTokens.create", for_agents);
  CHECK(of_site.has("/token"));
  good(w.acme_key, "siteTokens.revoke",
       with(with(own, "siteId", site), "tokenId",
            json_string(of_site.at("/id"))));
  good(w.acme_key, "pools.get", with(own, "poolId", pool));
  good(w.acme_key, "pools.list", own);
  auto made = good(w.acme_key, "credentials.create",
                   with(with(own, "principal", "\"bob\""), "grants",
                        R"([{"action":"*","resource":"*"}])"));
  good(w.acme_key, "credentials.revoke",
       with(own, "credentialId", json_string(made.at("/id"))));
  good(w.acme_key, "credentials.list", own);
  auto expecting =
      with(with(w.token_input(), "expect", R"({"serial":"SN-7701"})"),
           "maxUses", "2");
  auto token = good(w.acme_key, "joinTokens.create", expecting);
  CHECK(token.has("/token"));
  CHECK(!good(w.acme_key, "joinTokens.create", expecting).has("/token"));
  auto in_pool = with(own, "poolId", pool);
  good(w.acme_key, "joinTokens.revoke",
       with(in_pool, "tokenId", json_string(token.at("/id"))));
  good(w.acme_key, "joinTokens.list", with(in_pool, "includeInactive", "true"));
  for (const std::string decision : {"approve", "reject"}) {
    auto waiting = test::id_of(test::defer_now(
        w.streams, test::order_of(w.acme, w.site, decision, w.random.hex())));
    good(w.acme_key, "joinRequests." + decision,
         with(in_pool, "requestId", json_string(waiting.str())));
  }
  good(w.acme_key, "joinRequests.list", with(in_pool, "state", "\"all\""));
  good(w.acme_key, "nodes.list", own);
  auto of_node = with(own, "nodeId", json_string(node));
  good(w.acme_key, "nodes.get", of_node);
  good(w.acme_key, "nodes.adopt", of_node);
  good(w.acme_key, "nodes.cordon", of_node);
  good(w.acme_key, "nodes.revokeIdentity", of_node);
  auto enqueued = good(
      w.acme_key, "commands.enqueue",
      with(with(of_node, "kind", "\"ping\""), "idempotencyKey", "\"p-1\""));
  good(w.acme_key, "commands.list", of_node);
  good(w.acme_key, "commands.get",
       with(of_node, "commandId", json_string(enqueued.at("/id"))));
  const auto crowd = w.add_token(w.acme, w.pool, w.site, 3);
  w.join(crowd);
  w.join(crowd);
  auto of_token = with(own, "tokenId", json_string(crowd.id.str()));
  for (const char* dry_run : {"true", "false", "false"})
    CHECK(good(w.acme_key, "nodes.revokeByToken",
               with(with(of_token, "dryRun", dry_run), "limit", "1"))
              .items() == 1);
  good(w.acme_key, "nodes.delete", of_node);
  good(w.acme_key, "audit.list", own);
  good(w.acme_key, "events.list", own);
  events::refused_join refused;
  refused.owner = w.acme.str();
  refused.csr_sha256 = std::string(64, 'c');
  refused.reason = "join:expect";
  refused.details = "{}";
  REQUIRE(
      w.store->keep_refusals(w.random.id<batch_id>(), std::vector{refused}));
  good(w.acme_key, "joins.explain",
       with(own, "csrSha256", json_string(refused.csr_sha256)));
  good(
      w.acme_key, "joins.simulate",
      with(with(own, "tokenId", json_string(token.at("/id"))), "claims", "{}"));

  for (const auto& m : actors::api::method_table()) {
    INFO(full_name(m) << " is not called above");
    CHECK(answered.count(full_name(m)) == 1);
  }
}
