#include "tests/actors/api_world.hpp"
#include "tests/actors/waiting_machines.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

struct method_case {
  std::string name;
  std::string action;
  std::string resource;
  fields input;
};

std::vector<method_case> tenant_methods(api_world& w) {
  auto tenant = json_string(w.acme.str());
  auto pool = json_string(w.pool.str());
  auto site = json_string(w.site.str());
  auto on_pool = "compute-pool/" + w.pool.str();
  auto credential = w.add_credential(w.acme, "ended", {{"*", "*"}});
  credential.resize(credential.find('.'));
  auto token = w.add_token(w.acme, w.pool, w.site);
  auto node = w.join(w.add_token(w.acme, w.pool, w.site)).id.str();
  auto cordoned = w.join(w.add_token(w.acme, w.pool, w.site));
  w.decide_on(cordoned, events::node::cordon{w.time.now(), ""});
  auto on_node = "compute-node/" + node;
  auto ended_site = w.add_site(w.acme);
  auto ended_pool = w.add_pool(w.acme, w.site);
  fields of_node{{"tenantId", tenant}, {"nodeId", json_string(node)}};
  auto request = [&](const std::string& machine) {
    auto id = test::id_of(test::defer_now(
        w.streams, test::order_of(w.acme, w.site, machine, w.random.hex())));
    return fields{{"tenantId", tenant},
                  {"poolId", pool},
                  {"requestId", json_string(id.str())}};
  };
  auto to_approve = request("to-approve"), to_reject = request("to-reject");
  return {
      {"sites.create",
       "compute:sites:create",
       "compute-site/*",
       {{"tenantId", tenant}, {"name", "\"s1\""}}},
      {"sites.update",
       "compute:sites:manage",
       "compute-site/" + w.site.str(),
       {{"tenantId", tenant}, {"siteId", site}, {"name", "\"s2\""}}},
      {"sites.delete",
       "compute:sites:manage",
       "compute-site/" + ended_site.str(),
       {{"tenantId", tenant}, {"siteId", json_string(ended_site.str())}}},
      {"pools.update",
       "compute:pools:manage",
       on_pool,
       {{"tenantId", tenant}, {"poolId", pool}, {"name", "\"p2\""}}},
      {"pools.archive",
       "compute:pools:manage",
       "compute-pool/" + ended_pool.str(),
       {{"tenantId", tenant}, {"poolId", json_string(ended_pool.str())}}},
      {"siteTokens.create",
       "compute:sites:manage",
       "compute-site/" + w.site.str(),
       {{"tenantId", tenant},
        {"siteId", site},
        {"ttlSeconds", "60"},
        {"idempotencyKey", "\"access\""}}},
      {"siteTokens.revoke",
       "compute:sites:manage",
       "compute-site/" + w.site.str(),
       {{"tenantId", tenant},
        {"siteId", site},
        {"tokenId", json_string(w.add_site_token(w.acme, w.site).str())}}},
      {"sites.get",
       "compute:sites:read",
       "compute-site/" + w.site.str(),
       {{"tenantId", tenant}, {"siteId", site}}},
      {"sites.list",
       "compute:sites:read",
       "compute-site/*",
       {{"tenantId", tenant}}},
      {"pools.create",
       "compute:pools:create",
       "compute-pool/*",
       {{"tenantId", tenant}, {"siteId", site}, {"name", "\"p1\""}}},
      {"pools.get",
       "compute:pools:read",
       on_pool,
       {{"tenantId", tenant}, {"poolId", pool}}},
      {"pools.list",
       "compute:pools:read",
       "compute-pool/*",
       {{"tenantId", tenant}}},
      {"credentials.create",
       "compute:credentials:create",
       "compute-tenant/" + w.acme.str(),
       {{"tenantId", tenant},
        {"principal", "\"bob\""},
        {"grants", R"([{"action":"compute:credentials:create","resource":)" +
                       json_string("compute-tenant/" + w.acme.str()) + "}]"}}},
      {"credentials.list",
       "compute:credentials:read",
       "compute-tenant/" + w.acme.str(),
       {{"tenantId", tenant}}},
      {"credentials.revoke",
       "compute:credentials:revoke",
       "compute-tenant/" + w.acme.str(),
       {{"tenantId", tenant}, {"credentialId", json_string(credential)}}},
      {"joinTokens.create", "compute:join-tokens:create", on_pool,
       w.token_input("access")},
      {"joinTokens.list",
       "compute:join-tokens:read",
       on_pool,
       {{"tenantId", tenant}, {"poolId", pool}}},
      {"joinTokens.revoke",
       "compute:join-tokens:revoke",
       on_pool,
       {{"tenantId", tenant},
        {"poolId", pool},
        {"tokenId", json_string(token.id.str())}}},
      {"joinRequests.list",
       "compute:join-tokens:read",
       on_pool,
       {{"tenantId", tenant}, {"poolId", pool}}},
      {"joinRequests.approve", "compute:join-tokens:create", on_pool,
       to_approve},
      {"joinRequests.reject", "compute:join-tokens:create", on_pool, to_reject},
      {"nodes.list",
       "compute:nodes:read",
       "compute-node/*",
       {{"tenantId", tenant}}},
      {"nodes.get", "compute:nodes:read", on_node, of_node},
      {"nodes.adopt", "compute:nodes:adopt", on_node, of_node},
      {"nodes.cordon", "compute:nodes:cordon", on_node, of_node},
      {"nodes.revokeIdentity", "compute:nodes:revoke-identity", on_node,
       of_node},
      {"nodes.revokeByToken",
       "compute:nodes:revoke-identity",
       "compute-node/*",
       {{"tenantId", tenant}, {"tokenId", json_string(token.id.str())}}},
      {"nodes.delete", "compute:nodes:delete",
       "compute-node/" + cordoned.id.str(),
       with(of_node, "nodeId", json_string(cordoned.id.str()))},
      {"audit.list",
       "compute:audit:read",
       "compute-tenant/" + w.acme.str(),
       {{"tenantId", tenant}}},
      {"events.list",
       "compute:events:read",
       "compute-tenant/" + w.acme.str(),
       {{"tenantId", tenant}}},
  };
}

/// A ledger whose calls of one kind break.
class broken_ledger : public actors::sync_ledger {
 public:
  using actors::sync_ledger::sync_ledger;
  fault why = fail(errc::internal, "secret-table is damaged", {}, "at /x/y");
  bool tokens = false, appends = false, queries = false;

  void token(const join_token_id& id,
             actors::reply_to<actors::shared_state<events::join_token::state>>
                 done) override {
    tokens ? done(why) : sync_ledger::token(id, std::move(done));
  }
  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    appends ? done(why) : sync_ledger::append(std::move(b), std::move(done));
  }
  void query(std::function<result<std::string>(projections::queries&)> read,
             actors::reply_to<std::string> done) override {
    queries ? done(why) : sync_ledger::query(std::move(read), std::move(done));
  }
};

}  // namespace

TEST_CASE("api access: what is no credential is UNAUTHENTICATED") {
  api_world w;
  auto dot = w.acme_key.find('.');
  auto id = w.acme_key.substr(0, dot);
  auto secret = w.acme_key.substr(dot + 1);
  auto flipped = w.acme_key;
  flipped.back() = flipped.back() == 'A' ? 'B' : 'A';
  auto unknown = w.acme_key;
  unknown[6] = unknown[6] == '0' ? '1' : '0';
  const std::string expected =
      w.raw("", "joinTokens.create", "{}").at("/error");
  for (const auto& header : std::vector<std::string>{
           "",
           "Bearer",
           "Bearer ",
           "bearer " + w.acme_key,
           "Basic " + w.acme_key,
           w.acme_key,
           "Bearer  " + w.acme_key,
           "Bearer " + w.acme_key + " ",
           "Bearer " + w.acme_key + "\n",
           "Bearer " + id,
           "Bearer " + id + ".",
           "Bearer " + secret,
           "Bearer " + flipped,
           "Bearer " + unknown,
           "Bearer " + std::string{"BCK_"} + w.acme_key.substr(4),
           "Bearer bcjt_jt_" + id.substr(4) + "." + secret,
           "Bearer " + std::string(100'000, 'a'),
           std::string("Bearer \0", 8) + w.acme_key,
       }) {
    INFO(header.substr(0, 100));
    auto got = w.raw(header, "joinTokens.create", body_of(w.token_input()));
    CHECK(got.status == 401);
    CHECK(got.code() == "UNAUTHENTICATED");
    CHECK(got.at("/error") == expected);
  }
}

TEST_CASE("api access: authentication comes before everything else") {
  api_world w;
  CHECK(w.raw("", "no.such", "").code() == "UNAUTHENTICATED");
  CHECK(w.raw("", "joinTokens.create", "{").code() == "UNAUTHENTICATED");
}

TEST_CASE("api access: unknown groups and methods are NOT_FOUND") {
  api_world w;
  for (const auto* name :
       {"no.such", "joinTokens.mint", "JoinTokens.create", "joinTokens.",
        ".create", "joinTokens.create\n", "\xff.\xff"}) {
    auto got = w.raw("Bearer " + w.acme_key, name, "{}");
    CHECK(got.status == 404);
    CHECK(got.code() == "NOT_FOUND");
  }
}

TEST_CASE("api access: each method needs its action on its resource") {
  api_world w;
  for (const auto& m : tenant_methods(w)) {
    INFO(m.name);
    // Nothing at all, everything else, the right action elsewhere.
    for (const auto& held :
         std::vector<grants>{{{"compute:other:read", "*"}},
                             {{m.action + "s", m.resource}},
                             {{m.action, "compute-other/*"}},
                             {{m.action, m.resource + "x"}}}) {
      auto key = w.add_credential(w.acme, "weak", held);
      auto before = w.position();
      auto got = w.call(key, m.name, m.input);
      CHECK(got.status == 403);
      CHECK(got.code() == "ACCESS_DENIED");
      CHECK(w.position() == before);
    }
    auto key =
        w.add_credential(w.acme, "just-enough", {{m.action, m.resource}});
    auto got = w.call(key, m.name, m.input);
    INFO(got.text);
    CHECK(got.status == 200);
  }
}

TEST_CASE("api access: a grant on one pool lists no others") {
  api_world w;
  auto key =
      w.add_credential(w.acme, "one-pool",
                       {{"compute:pools:*", "compute-pool/" + w.pool.str()}});
  CHECK(w.call(key, "pools.list", {{"tenantId", json_string(w.acme.str())}})
            .code() == "ACCESS_DENIED");
}

TEST_CASE("api access: schema before tenant, tenant before grants") {
  api_world w;
  auto none = w.add_credential(w.acme, "none", {{"compute:x:y", "z"}});
  auto input = w.token_input();
  CHECK(w.call(none, "joinTokens.create", with(input, "ttlSeconds", "1"))
            .code() == "INVALID_INPUT");
  CHECK(w.call(none, "joinTokens.create",
               with(input, "tenantId", json_string(w.other.str())))
            .code() == "NOT_FOUND");
  CHECK(w.call(none, "joinTokens.create", input).code() == "ACCESS_DENIED");
}

TEST_CASE("api access: another tenant's id is NOT_FOUND, for root too") {
  api_world w;
  for (const auto& m : tenant_methods(w)) {
    INFO(m.name);
    for (const auto& key : {w.other_key, w.root_key}) {
      auto got = w.call(key, m.name, m.input);
      CHECK(got.status == 404);
      CHECK(got.code() == "NOT_FOUND");
    }
  }
}

TEST_CASE("api access: another tenant's resources are NOT_FOUND") {
  api_world w;
  auto tenant = json_string(w.other.str());
  auto token = w.add_token(w.acme, w.pool, w.site);
  auto node = w.join(token).id.str();
  auto pool = json_string(w.pool.str());
  for (const auto& [name, input] : std::vector<std::pair<std::string, fields>>{
           {"sites.get",
            {{"tenantId", tenant}, {"siteId", json_string(w.site.str())}}},
           {"pools.get", {{"tenantId", tenant}, {"poolId", pool}}},
           {"pools.create",
            {{"tenantId", tenant},
             {"siteId", json_string(w.site.str())},
             {"name", "\"p\""}}},
           {"sites.update",
            {{"tenantId", tenant},
             {"siteId", json_string(w.site.str())},
             {"name", "\"s\""}}},
           {"sites.delete",
            {{"tenantId", tenant}, {"siteId", json_string(w.site.str())}}},
           {"pools.update",
            {{"tenantId", tenant}, {"poolId", pool}, {"name", "\"p\""}}},
           {"pools.archive", {{"tenantId", tenant}, {"poolId", pool}}},
           {"siteTokens.create",
            {{"tenantId", tenant},
             {"siteId", json_string(w.site.str())},
             {"ttlSeconds", "60"},
             {"idempotencyKey", "\"k\""}}},
           {"siteTokens.revoke",
            {{"tenantId", tenant},
             {"siteId", json_string(w.other_site.str())},
             {"tokenId", json_string(w.add_site_token(w.acme, w.site).str())}}},
           {"joinTokens.create", with(w.token_input(), "tenantId", tenant)},
           {"joinTokens.list", {{"tenantId", tenant}, {"poolId", pool}}},
           {"joinTokens.revoke",
            {{"tenantId", tenant},
             {"poolId", pool},
             {"tokenId", json_string(token.id.str())}}},
           {"joinTokens.revoke",
            {{"tenantId", tenant},
             {"poolId", json_string(w.other_pool.str())},
             {"tokenId", json_string(token.id.str())}}},
           {"nodes.get", {{"tenantId", tenant}, {"nodeId", json_string(node)}}},
           {"credentials.create",
            {{"tenantId", tenant},
             {"forTenantId", json_string(w.acme.str())},
             {"principal", "\"eve\""},
             {"grants", R"([{"action":"*","resource":"*"}])"}}}}) {
    INFO(name);
    auto before = w.position();
    auto got = w.call(w.other_key, name, input);
    INFO(got.text);
    CHECK(got.code() == "NOT_FOUND");
    CHECK(w.position() == before);
  }
}

TEST_CASE("api access: ids that are none of ours are NOT_FOUND") {
  api_world w;
  auto tenant = json_string(w.acme.str());
  auto zeros = std::string(26, '0');
  for (const auto& [name, input] : std::vector<std::pair<std::string, fields>>{
           {"pools.get", {{"tenantId", tenant}, {"poolId", "\"rack:7\""}}},
           {"pools.get",
            {{"tenantId", tenant}, {"poolId", json_string("pool_" + zeros)}}},
           {"sites.get",
            {{"tenantId", tenant}, {"siteId", json_string("site_" + zeros)}}},
           {"nodes.get",
            {{"tenantId", tenant}, {"nodeId", json_string("node_" + zeros)}}},
           {"sites.update",
            {{"tenantId", tenant},
             {"siteId", json_string("site_" + zeros)},
             {"name", "\"s\""}}},
           {"sites.delete",
            {{"tenantId", tenant}, {"siteId", json_string("site_" + zeros)}}},
           {"pools.update",
            {{"tenantId", tenant}, {"poolId", "\"x\""}, {"name", "\"p\""}}},
           {"pools.archive", {{"tenantId", tenant}, {"poolId", "\"x\""}}},
           {"siteTokens.create",
            {{"tenantId", tenant},
             {"siteId", json_string("site_" + zeros)},
             {"ttlSeconds", "60"},
             {"idempotencyKey", "\"k\""}}},
           {"siteTokens.revoke",
            {{"tenantId", tenant},
             {"siteId", json_string(w.site.str())},
             {"tokenId", json_string("jt_" + zeros)}}},
           {"joinTokens.create", with(w.token_input(), "poolId", "\"x\"")},
           {"joinTokens.list", {{"tenantId", tenant}, {"poolId", "\"x\""}}},
           {"joinTokens.revoke",
            {{"tenantId", tenant},
             {"poolId", "\"x\""},
             {"tokenId", json_string("jt_" + zeros)}}},
           {"joinTokens.revoke",
            {{"tenantId", tenant},
             {"poolId", json_string(w.pool.str())},
             {"tokenId", json_string("jt_" + zeros)}}}}) {
    INFO(name);
    CHECK(w.call(w.acme_key, name, input).code() == "NOT_FOUND");
  }
}

TEST_CASE("api access: the root tenant alone makes and lists tenants") {
  api_world w;
  fields list{{"tenantId", json_string(w.acme.str())}};
  CHECK(w.call(w.acme_key, "tenants.list", list).code() == "ACCESS_DENIED");
  CHECK(w.call(w.acme_key, "tenants.create", with(list, "name", "\"t\""))
            .code() == "ACCESS_DENIED");
  CHECK(w.call(w.acme_key, "sites.create",
               {{"tenantId", json_string(w.acme.str())},
                {"name", "\"s\""},
                {"kind", "\"shared\""}})
            .code() == "ACCESS_DENIED");
  auto weak = w.add_credential(w.root, "weak",
                               {{"compute:tenants:read", "compute-tenant/*"}});
  fields own{{"tenantId", json_string(w.root.str())}};
  CHECK(w.call(weak, "tenants.list", own).status == 200);
  CHECK(w.call(weak, "tenants.create", with(own, "name", "\"t\"")).code() ==
        "ACCESS_DENIED");
}

TEST_CASE("api access: x-min-position is held against the journal's head") {
  api_world w;
  auto body = body_of({{"tenantId", json_string(w.acme.str())}});
  auto at = [&](const std::string& position) {
    return w.raw("Bearer " + w.acme_key, "pools.list", body, position);
  };
  auto head = w.position();
  CHECK(at("0").status == 200);
  CHECK(at(std::to_string(head)).status == 200);
  for (const auto& bad :
       {std::to_string(head + 1), std::string{"-1"}, std::string{"1x"},
        std::string{" 1"}, std::string{"99999999999999999999999"}}) {
    INFO(bad);
    CHECK(at(bad).code() == "INVALID_INPUT");
  }
}

TEST_CASE("api access: a fault of ours says nothing of itself") {
  api_world w;
  auto broken =
      std::make_shared<broken_ledger>(*w.store, w.time, w.reader.get());
  w.use(broken);
  fields list{{"tenantId", json_string(w.acme.str())},
              {"poolId", json_string(w.pool.str())}};
  auto check = [&](const reply& got, int status, const char* code) {
    INFO(got.text);
    CHECK(got.status == status);
    CHECK(got.code() == code);
    CHECK(got.text.find("secret") == std::string::npos);
    CHECK(got.text.find("/x/y") == std::string::npos);
  };
  auto before = w.position();
  broken->tokens = true;
  check(w.call(w.acme_key, "joinTokens.create", w.token_input()), 500,
        "INTERNAL");
  broken->tokens = false;
  broken->appends = true;
  check(w.call(w.acme_key, "joinTokens.create", w.token_input()), 500,
        "INTERNAL");
  broken->why.code = errc::unavailable;
  check(w.call(w.acme_key, "joinTokens.create", w.token_input()), 503,
        "UNAVAILABLE");
  broken->queries = true;
  check(w.call(w.acme_key, "joinTokens.list", list), 503, "UNAVAILABLE");
  // A fault of the store is never an answer about the caller's input.
  broken->why.code = errc::not_found;
  check(w.call(w.acme_key, "joinTokens.list", list), 500, "INTERNAL");
  CHECK(w.position() == before);
}
