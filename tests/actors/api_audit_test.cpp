// audit.list: who decided what (spec: DESIGN section 10).

#include "actors/api/method_table.hpp"
#include "events/audit.hpp"
#include "events/catalog.hpp"
#include "tests/actors/api_world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

fields own(const tenant_id& tenant) {
  return {{"tenantId", json_string(tenant.str())}};
}

std::vector<std::string> column(const reply& page, const std::string& name) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < page.items(); ++i)
    out.push_back(page.at("/items/" + std::to_string(i) + "/" + name));
  return out;
}

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("api audit: actions are those that callers are granted") {
  // What machines decide, and nobody is granted, is named as its event.
  std::set<std::string_view> granted{"node.joined", "site.boot-lease-acquired",
                                     "site.boot-lease-released"};
  for (const auto& m : actors::api::method_table())
    granted.insert(m.action);
  int audited = 0;
  for (const auto& t : events::event_types())
    if (auto action = events::audited_action(t.name)) {
      INFO(t.name << " " << *action);
      CHECK(granted.contains(*action));
      ++audited;
    }
  CHECK(audited > 10);
}

TEST_CASE("api audit: a call's decision is found by all it is asked by") {
  api_world w;
  auto j = w.join(w.add_token(w.acme, w.pool, w.site));
  w.time.advance(seconds{60});
  auto at = to_rfc3339(w.time.now());
  auto before = w.position();
  auto on_node = with(own(w.acme), "nodeId", json_string(j.id.str()));
  REQUIRE(
      w.call(w.acme_key, "nodes.cordon", with(on_node, "reason", "\"smoke\""))
          .status == 200);
  w.time.advance(seconds{60});
  REQUIRE(w.call(w.acme_key, "nodes.adopt", on_node).status == 200);

  const auto resource = "compute-node/" + j.id.str();
  auto all = w.call(w.acme_key, "audit.list",
                    with(with(own(w.acme), "resource", json_string(resource)),
                         "order", "\"oldest\""));
  CHECK(column(all, "action") ==
        texts{"node.joined", "compute:nodes:cordon", "compute:nodes:adopt"});
  auto cordon = w.call(w.acme_key, "audit.list",
                       with(own(w.acme), "action", "\"compute:nodes:cordon\""));
  REQUIRE(cordon.items() == 1);
  CHECK(cordon.at("/items/0/principal") == "alice");
  CHECK(cordon.at("/items/0/tenantId") == w.acme.str());
  CHECK(cordon.at("/items/0/resource") == resource);
  CHECK(cordon.at("/items/0/time") == at);
  CHECK(cordon.at("/items/0/event") == "node.cordoned");
  CHECK(cordon.at("/items/0/correlation") == "req-1");
  CHECK(cordon.at("/items/0/position") == std::to_string(before + 1));
  CHECK(cordon.at("/items/0/details/reason") == "smoke");

  auto list = [&](const fields& by) {
    auto input = with(own(w.acme), "order", "\"oldest\"");
    input.insert(by.begin(), by.end());
    return column(w.call(w.acme_key, "audit.list", input), "action");
  };
  const texts both{"compute:nodes:cordon", "compute:nodes:adopt"};
  CHECK(list({{"principal", "\"alice\""}}) == both);
  CHECK(list({{"principal", "\"bob\""}}).empty());
  CHECK(list({{"correlation", "\"req-1\""}}) == both);
  CHECK(list({{"from", json_string(at)}}) == both);
  CHECK(list({{"from", json_string(at)},
              {"until", json_string(to_rfc3339(w.time.now()))}}) ==
        texts{"compute:nodes:cordon"});
  // The newest first, unless it is asked for otherwise.
  auto recent = w.call(w.acme_key, "audit.list",
                       with(own(w.acme), "from", json_string(at)));
  CHECK(column(recent, "action") == texts{both.rbegin(), both.rend()});
}

TEST_CASE("api audit: pages go on in the order that was asked for") {
  api_world w;
  auto j = w.join(w.add_token(w.acme, w.pool, w.site));
  auto on_node = with(own(w.acme), "nodeId", json_string(j.id.str()));
  for (int i = 0; i < 5; ++i) {
    w.call(w.acme_key, "nodes.cordon", on_node);
    w.call(w.acme_key, "nodes.adopt", on_node);
  }
  for (const std::string order : {"oldest", "newest"}) {
    auto input = with(own(w.acme), "order", json_string(order));
    auto whole = w.call(w.acme_key, "audit.list", input).ids();
    REQUIRE(whole.size() > 10);
    texts paged;
    input["limit"] = "3";
    for (;;) {
      auto page = w.call(w.acme_key, "audit.list", input);
      for (const auto& id : page.ids())
        paged.push_back(id);
      if (!page.has("/cursor"))
        break;
      input["cursor"] = json_string(page.at("/cursor"));
    }
    CHECK(paged == whole);
  }
}

TEST_CASE("api audit: a tenant sees what is its own, root too") {
  api_world w;
  w.join(w.add_token(w.other, w.other_pool, w.other_site));
  w.call(w.acme_key, "joinTokens.create", w.token_input());
  for (const auto& [key, tenant] :
       std::vector<std::pair<std::string, tenant_id>>{{w.acme_key, w.acme},
                                                      {w.other_key, w.other},
                                                      {w.root_key, w.root}}) {
    auto page = w.call(key, "audit.list", own(tenant));
    REQUIRE(page.items() > 0);
    for (const auto& owner : column(page, "tenantId"))
      CHECK(owner == tenant.str());
    auto text = page.text;
    for (const auto& theirs : {w.acme, w.other})
      if (theirs != tenant)
        CHECK(text.find(theirs.str()) == std::string::npos);
  }
  // Another's cursor is a place in time, and says nothing.
  auto theirs = w.call(w.other_key, "audit.list", own(w.other)).ids();
  auto page = w.call(w.acme_key, "audit.list",
                     with(own(w.acme), "cursor", json_string(theirs.back())));
  CHECK(page.status == 200);
  for (const auto& owner : column(page, "tenantId"))
    CHECK(owner == w.acme.str());
}

TEST_CASE("api audit: what root does to another tenant is in both") {
  api_world w;
  // Whoever makes a credential names its principal, also like another's.
  const auto twin = w.add_credential(w.root, "ops", {{"*", "*"}});
  auto made =
      w.call(twin, "tenants.create",
             {{"name", "\"zeta\""}, {"tenantId", own(w.root).at("tenantId")}});
  REQUIRE(made.status == 200);
  const auto zeta = made.at("/id");
  auto row_of = [](const reply& page) {
    const auto actions = column(page, "action");
    auto found =
        std::find(actions.begin(), actions.end(), "compute:tenants:create");
    return "/items/" + std::to_string(found - actions.begin());
  };
  auto mine = w.call(w.root_key, "audit.list", own(w.root));
  const auto at = row_of(mine);
  CHECK(mine.at(at + "/tenantId") == zeta);
  CHECK(mine.at(at + "/resource") == "compute-tenant/" + zeta);
  CHECK(mine.at(at + "/principal") == "ops");
  CHECK(mine.at(at + "/actorTenantId") == w.root.str());
  CHECK(mine.at(at + "/credentialId") == twin.substr(0, twin.find('.')));

  const auto key =
      w.add_credential(tenant_id::parse(zeta).value(), "z", {{"*", "*"}});
  auto theirs = w.call(key, "audit.list", {{"tenantId", json_string(zeta)}});
  CHECK(theirs.at(row_of(theirs) + "/id") == mine.at(at + "/id"));
  CHECK(theirs.at(row_of(theirs) + "/actorTenantId") == w.root.str());
  CHECK(w.call(w.acme_key, "audit.list", own(w.acme)).text.find(zeta) ==
        std::string::npos);
}

TEST_CASE("api audit: who made a credential or a token, and never its secret") {
  api_world w;
  auto token = w.call(w.acme_key, "joinTokens.create", w.token_input());
  auto key = w.call(w.acme_key, "credentials.create",
                    with(with(own(w.acme), "principal", "\"bob\""), "grants",
                         R"([{"action":"*","resource":"*"}])"));
  REQUIRE(key.status == 200);
  auto page = w.call(
      w.acme_key, "audit.list",
      with(with(own(w.acme), "principal", "\"alice\""), "order", "\"oldest\""));
  CHECK(column(page, "action") ==
        texts{"compute:join-tokens:create", "compute:credentials:create"});
  CHECK(page.at("/items/0/resource") == "compute-pool/" + w.pool.str());
  CHECK(page.at("/items/1/resource") == "compute-tenant/" + w.acme.str());
  CHECK(page.at("/items/1/details/principal") == "bob");
  for (const auto& bearer : {token.at("/token"), key.at("/credential")}) {
    auto secret = bearer.substr(bearer.rfind('.') + 1);
    REQUIRE(secret.size() == 43);
    CHECK(page.text.find(secret) == std::string::npos);
    CHECK(page.text.find(to_hex(pki::sha256(as_bytes(secret)))) ==
          std::string::npos);
  }
}

TEST_CASE("api audit: what it may be asked by, to the letter") {
  api_world w;
  struct row {
    std::string field, raw;
    bool good;
  };
  const auto cursor = std::string(15, '0') + "-" + std::string(20, '0');
  for (const auto& r : std::vector<row>{
           {"from", "\"2026-11-29T18:00:00Z\"", true},
           {"from", "\"2026-11-29T18:00:00.250Z\"", true},
           {"from", "\"2026-11-29T18:00:00.25Z\"", false},
           {"from", "\"2026-11-29T18:00:00\"", false},
           {"from", "\"2026-11-29T18:00:00+01:00\"", false},
           {"from", "\"2026-13-29T18:00:00Z\"", false},
           {"from", "\"2026-02-30T18:00:00Z\"", false},
           {"from", "1790000000000", false},
           {"until", "\"yesterday\"", false},
           {"until", "\"2026-11-29T24:00:01Z\"", false},
           {"until", "\"2026-11-29T18:00:00Z\"", true},
           {"action", "\"node.reclaimed\"", true},
           {"action", "\"compute:nodes:cordon\"", true},
           {"action", "\"compute:*\"", false},
           {"action", "\"\"", false},
           {"resource", "\"compute-node/node_1\"", true},
           {"resource", "\"compute-node/\"", false},
           {"resource", "\"compute-node/*\"", false},
           {"resource", "\"node_1\"", false},
           {"principal", "\"machine\"", true},
           {"principal", "\"ci/deploy@acme.example\"", true},
           {"principal", "\"a b\"", false},
           {"correlation", "\"req-1\"", true},
           {"correlation", "\"a b\"", false},
           {"order", "\"newest\"", true},
           {"order", "\"oldest\"", true},
           {"order", "\"desc\"", false},
           {"order", "true", false},
           {"limit", "0", false},
           {"limit", "201", false},
           {"cursor", json_string(cursor), true},
           {"cursor", json_string(cursor + "0"), false},
           {"cursor", "\"1\"", false},
       }) {
    INFO(r.field << " " << r.raw);
    auto got =
        w.call(w.acme_key, "audit.list", with(own(w.acme), r.field, r.raw));
    INFO(got.text);
    CHECK(got.status == (r.good ? 200 : 400));
    CHECK(got.path() == (r.good ? "" : "/" + r.field));
  }
}
