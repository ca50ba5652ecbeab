#include "tests/actors/api_world.hpp"
#include "tests/actors/slow_ledger.hpp"

#include <catch2/catch.hpp>

#include <regex>
#include <set>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

fields on_token(api_world& w, const std::string& id) {
  return {{"tenantId", json_string(w.acme.str())},
          {"poolId", json_string(w.pool.str())},
          {"tokenId", json_string(id)}};
}

fields on_pool(api_world& w) {
  return {{"tenantId", json_string(w.acme.str())},
          {"poolId", json_string(w.pool.str())}};
}

std::string without(std::string text, const std::string& field) {
  return std::regex_replace(text, std::regex{"\"" + field + "\":[^,}]*,?"}, "");
}

}  // namespace

TEST_CASE("api tokens: create answers the record and a bearer that works") {
  api_world w;
  auto got = w.call(w.acme_key, "joinTokens.create",
                    with(w.token_input(), "maxUses", "7"));
  INFO(got.text);
  REQUIRE(got.status == 200);
  CHECK(got.at("/poolId") == w.pool.str());
  CHECK(got.at("/siteId") == w.site.str());
  CHECK(got.at("/tenantId") == w.acme.str());
  CHECK(got.at("/role") == "node");
  CHECK(got.at("/maxUses") == "7");
  CHECK(got.at("/usesLeft") == "7");
  CHECK(got.at("/allowReclaim") == "false");
  CHECK_FALSE(got.has("/expect"));
  CHECK_FALSE(got.has("/hosted"));
  CHECK_FALSE(got.has("/revokedAt"));
  CHECK(got.at("/position") == std::to_string(w.position()));

  auto bearer = events::join_token::parse_bearer(got.at("/token"));
  REQUIRE(bearer);
  CHECK(bearer->id.str() == got.at("/id"));
  bool checked = false;
  w.streams->token(bearer->id, [&](auto state) {
    REQUIRE(state);
    checked = true;
    CHECK_FALSE(check_secret(
        *state.value(), events::join_token::secret_digest(bearer->secret)));
    CHECK(state.value()->token->max_uses == 7);
  });
  CHECK(checked);
}

TEST_CASE("api tokens: expiresAt is creation plus ttlSeconds (case 17)") {
  for (const auto* zone :
       {"America/Los_Angeles", "Pacific/Kiritimati", "UTC"}) {
    setenv("TZ", zone, 1);
    tzset();
    api_world w;
    auto got = w.call(w.acme_key, "joinTokens.create",
                      with(w.token_input(), "ttlSeconds", "60"));
    CHECK(got.at("/createdAt") == "2026-11-29T12:00:00.000Z");
    CHECK(got.at("/expiresAt") == "2026-11-29T12:01:00.000Z");
  }
  unsetenv("TZ");
  tzset();
}

TEST_CASE("api tokens: expect is kept as it is compared") {
  api_world w;
  auto got = w.call(w.acme_key, "joinTokens.create",
                    with(w.token_input(), "expect",
                         R"({"productUuid":"4C4C4544004235108051B7C04F4D3332",)"
                         R"("serial":"sn-7701","mac":"3C:EC:EF:12:34:56",)"
                         R"("gpuUuid":"GPU-5D1C3A52-9b7d-4e60-8a21-)"
                         R"(d0c5b7123456"})"));
  INFO(got.text);
  CHECK(got.at("/expect/productUuid") ==
        "4c4c4544-0042-3510-8051-b7c04f4d3332");
  CHECK(got.at("/expect/mac") == "3c:ec:ef:12:34:56");
  CHECK(got.at("/expect/gpuUuid") ==
        "GPU-5d1c3a52-9b7d-4e60-8a21-d0c5b7123456");
  // And a retry takes it as the record has it.
  auto again = w.call(w.acme_key, "joinTokens.create",
                      with(w.token_input(), "expect", got.at("/expect")));
  INFO(again.text);
  CHECK(again.at("/id") == got.at("/id"));
  auto listed = w.call(w.acme_key, "joinTokens.list", on_pool(w));
  CHECK(listed.at("/items/0/expect") == got.at("/expect"));
}

TEST_CASE("api tokens: a pool without the daemon is INVALID_STATE") {
  api_world w;
  auto metal = json_string(w.add_pool_without_daemon().str());
  auto got = w.call(w.acme_key, "joinTokens.create",
                    with(w.token_input(), "poolId", metal));
  CHECK(got.status == 409);
  CHECK(got.code() == "INVALID_STATE");
}

TEST_CASE("api tokens: hosted and allowReclaim are kept, and told") {
  api_world w;
  auto got = w.call(w.acme_key, "joinTokens.create",
                    with(with(w.token_input(), "hosted", "\"kubernetes\""),
                         "allowReclaim", "true"));
  INFO(got.text);
  CHECK(got.at("/hosted") == "kubernetes");
  CHECK(got.at("/allowReclaim") == "true");
  auto told = w.call(w.acme_key, "events.list",
                     {{"tenantId", json_string(w.acme.str())},
                      {"type", "\"security.join-token.created\""}});
  CHECK(told.at("/items/0/data/hosted") == "kubernetes");
  CHECK(told.at("/items/0/data/pinned") == "false");
  for (const auto& [field, raw] :
       {std::pair{"hosted", ""}, {"allowReclaim", "false"}})
    CHECK(w.call(w.acme_key, "joinTokens.create",
                 with(with(with(w.token_input(), "hosted", "\"kubernetes\""),
                           "allowReclaim", "true"),
                      field, raw))
              .code() == "CONFLICT");
}

TEST_CASE(
    "api tokens: none for a pool that is archived, or on a site that is "
    "deleted") {
  api_world w;
  auto ends = w.add_pool(w.acme, w.site);
  auto input = with(w.token_input(), "poolId", json_string(ends.str()));
  auto made = w.call(w.acme_key, "joinTokens.create", input);
  REQUIRE(made.status == 200);
  REQUIRE(w.call(w.acme_key, "pools.archive",
                 {{"tenantId", json_string(w.acme.str())},
                  {"poolId", json_string(ends.str())}})
              .status == 200);
  auto later = with(input, "idempotencyKey", "\"k-2\"");
  CHECK(w.call(w.acme_key, "joinTokens.create", later).code() ==
        "INVALID_STATE");
  // A retry needs no new decision, and its token can still be revoked.
  auto again = w.call(w.acme_key, "joinTokens.create", input);
  CHECK(again.at("/id") == made.at("/id"));
  CHECK(w.call(w.acme_key, "joinTokens.revoke",
               {{"tenantId", json_string(w.acme.str())},
                {"poolId", json_string(ends.str())},
                {"tokenId", json_string(made.at("/id"))}})
            .has("/revokedAt"));
  REQUIRE(w.call(w.acme_key, "sites.delete",
                 {{"tenantId", json_string(w.acme.str())},
                  {"siteId", json_string(w.site.str())}})
              .status == 200);
  CHECK(w.call(w.acme_key, "joinTokens.create", w.token_input("k-3")).code() ==
        "INVALID_STATE");
}

TEST_CASE("api tokens: a retry answers the stored record, else CONFLICT") {
  api_world w;
  auto spare = w.add_pool(w.acme, w.site);
  auto input = with(w.token_input(), "expect", R"({"serial":"SN-7701"})");
  auto first = w.call(w.acme_key, "joinTokens.create", input);
  REQUIRE(first.status == 200);
  auto before = w.position();

  struct row {
    std::string field, raw;
    bool same;
  };
  for (const auto& r : std::vector<row>{
           {"ttlSeconds", "3600", true},
           {"ttlSeconds", "60", true},
           {"maxUses", "10", true},
           {"allowReclaim", "false", true},
           {"expect", R"({"serial":"sn-7701"})", true},
           {"expect", R"({"serial":"SN-7702"})", false},
           {"expect", R"({"serial":"SN-7701","mac":"3c:ec:ef:12:34:56"})",
            false},
           {"expect", "", false},
           {"poolId", json_string(spare.str()), false},
           {"poolId", json_string(w.other_pool.str()), false},
           {"poolId", "\"rack-7\"", false},
           {"allowReclaim", "true", false},
           {"hosted", "\"kubernetes\"", false}}) {
    INFO(r.field << " " << r.raw);
    auto got =
        w.call(w.acme_key, "joinTokens.create", with(input, r.field, r.raw));
    INFO(got.text);
    CHECK_FALSE(got.has("/token"));
    if (r.same) {
      CHECK(got.status == 200);
      CHECK(without(got.text, "position") ==
            without(without(first.text, "token"), "position"));
    } else {
      CHECK(got.status == 409);
      CHECK(got.code() == "CONFLICT");
    }
  }
  CHECK(w.position() == before);
}

TEST_CASE(
    "api tokens: a retry needs no grant any more, and shows the present") {
  api_world w;
  auto first = w.call(w.acme_key, "joinTokens.create", w.token_input());
  auto weak = w.add_credential(w.acme, "alice", {{"compute:x:y", "z"}});
  auto again = w.call(weak, "joinTokens.create", w.token_input());
  CHECK(again.status == 200);
  CHECK(again.at("/id") == first.at("/id"));
  CHECK(w.call(weak, "joinTokens.create", w.token_input("new")).code() ==
        "ACCESS_DENIED");

  w.call(w.acme_key, "joinTokens.revoke", on_token(w, first.at("/id")));
  auto revoked = w.call(weak, "joinTokens.create", w.token_input());
  CHECK(revoked.status == 200);
  CHECK(revoked.has("/revokedAt"));
}

TEST_CASE("api tokens: a key belongs to its tenant and principal (case 19)") {
  api_world w;
  auto bob = w.add_credential(w.acme, "bob", {{"*", "*"}});
  auto alice_there = w.add_credential(w.other, "alice", {{"*", "*"}});
  auto other_input =
      with(with(w.token_input(), "tenantId", json_string(w.other.str())),
           "poolId", json_string(w.other_pool.str()));
  std::set<std::string> ids;
  for (const auto& got :
       {w.call(w.acme_key, "joinTokens.create", w.token_input()),
        w.call(bob, "joinTokens.create", w.token_input()),
        w.call(alice_there, "joinTokens.create", other_input)}) {
    CHECK(got.has("/token"));
    ids.insert(got.at("/id"));
  }
  CHECK(ids.size() == 3);
  auto again = w.call(bob, "joinTokens.create", w.token_input());
  CHECK(ids.count(again.at("/id")) == 1);
  CHECK_FALSE(again.has("/token"));
  // Another credential of the same principal is the same caller.
  auto alice2 = w.add_credential(w.acme, "alice", {{"*", "*"}});
  CHECK_FALSE(
      w.call(alice2, "joinTokens.create", w.token_input()).has("/token"));
}

TEST_CASE("api tokens: twenty creates at once make one token (case 18)") {
  api_world w;
  auto slow = std::make_shared<slow_ledger>(*w.store, w.time);
  std::vector<reply> got;
  for (int i = 0; i < 20; ++i)
    actors::run_api_call(w.env, slow,
                         {"joinTokens", "create", "Bearer " + w.acme_key,
                          body_of(w.token_input()), "req-1", ""},
                         [&](actors::api_reply r) {
                           got.push_back({r.status, r.body});
                         });
  CHECK(got.empty());
  while (slow->flush()) {
  }
  REQUIRE(got.size() == 20);
  int bearers = 0;
  std::set<std::string> records;
  for (const auto& r : got) {
    CHECK(r.status == 200);
    bearers += r.has("/token") ? 1 : 0;
    records.insert(without(without(r.text, "token"), "position"));
  }
  CHECK(bearers == 1);
  CHECK(records.size() == 1);
  CHECK(w.count("security.join-token.created") == 1);
}

TEST_CASE("api tokens: revocations at once write one event") {
  api_world w;
  auto id = w.call(w.acme_key, "joinTokens.create", w.token_input()).at("/id");
  auto slow = std::make_shared<slow_ledger>(*w.store, w.time);
  std::vector<reply> got;
  for (int i = 0; i < 5; ++i)
    actors::run_api_call(w.env, slow,
                         {"joinTokens", "revoke", "Bearer " + w.acme_key,
                          body_of(on_token(w, id)), "req-1", ""},
                         [&](actors::api_reply r) {
                           got.push_back({r.status, r.body});
                         });
  while (slow->flush()) {
  }
  REQUIRE(got.size() == 5);
  for (const auto& r : got) {
    CHECK(r.status == 200);
    CHECK(r.has("/revokedAt"));
  }
  CHECK(w.count("security.join-token.revoked") == 1);
}

TEST_CASE("api tokens: a second revocation changes nothing") {
  api_world w;
  auto id = w.call(w.acme_key, "joinTokens.create", w.token_input()).at("/id");
  w.time.advance(seconds{5});
  auto first = w.call(w.acme_key, "joinTokens.revoke", on_token(w, id));
  CHECK(first.at("/revokedAt") == "2026-11-29T12:00:05.000Z");
  CHECK(first.at("/usesLeft") == "1");
  CHECK(first.at("/position") == std::to_string(w.position()));
  w.time.advance(seconds{5});
  auto before = w.position();
  auto second = w.call(w.acme_key, "joinTokens.revoke", on_token(w, id));
  CHECK(second.text == first.text);
  CHECK(w.position() == before);
}

TEST_CASE("api tokens: a token of another pool is NOT_FOUND to revoke") {
  api_world w;
  auto id = w.call(w.acme_key, "joinTokens.create", w.token_input()).at("/id");
  auto spare = w.add_pool(w.acme, w.site);
  CHECK(w.call(w.acme_key, "joinTokens.revoke",
               with(on_token(w, id), "poolId", json_string(spare.str())))
            .code() == "NOT_FOUND");
}

TEST_CASE("api tokens: revoke takes no bearer and no other case (4, 5)") {
  api_world w;
  auto made = w.call(w.acme_key, "joinTokens.create", w.token_input());
  auto id = made.at("/id");
  auto upper = "JT_" + id.substr(3);
  for (const auto& bad : {made.at("/token"), upper, " " + id, id + ".x"})
    CHECK(w.call(w.acme_key, "joinTokens.revoke", on_token(w, bad)).path() ==
          "/tokenId");
}

TEST_CASE("api tokens: the list shows live tokens, or all of them (case 12)") {
  api_world w;
  auto make = [&](const std::string& key, const std::string& ttl) {
    return w
        .call(w.acme_key, "joinTokens.create",
              with(w.token_input(key), "ttlSeconds", ttl))
        .at("/id");
  };
  auto list = [&](bool all) {
    auto got =
        w.call(w.acme_key, "joinTokens.list",
               with(on_pool(w), "includeInactive", all ? "true" : "false"));
    CHECK(got.status == 200);
    CHECK(got.text.find("\"token\"") == std::string::npos);
    CHECK(got.text.find("ecret") == std::string::npos);
    return got;
  };
  auto live = make("live", "3600");
  auto expired = make("expired", "60");
  auto revoked = make("revoked", "3600");
  auto used = w.add_token(w.acme, w.pool, w.site);
  CHECK(list(false).items() == 4);
  w.join(used);
  w.call(w.acme_key, "joinTokens.revoke", on_token(w, revoked));
  w.time.advance(seconds{60});
  CHECK(list(false).ids() == std::vector{live});
  auto all = list(true);
  CHECK(all.items() == 4);
  auto ids = all.ids();
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto at = "/items/" + std::to_string(i);
    CHECK(all.has(at + "/revokedAt") == (ids[i] == revoked));
    CHECK((all.at(at + "/usesLeft") == "0") == (ids[i] == used.id.str()));
    CHECK_FALSE(all.at(at + "/expiresAt").empty());
  }
}

TEST_CASE("api tokens: pages follow one another without gap or repeat") {
  api_world w;
  for (int i = 0; i < 105; ++i)
    w.add_token(w.acme, w.pool, w.site);
  w.add_token(w.other, w.other_pool, w.other_site);
  auto first = w.call(w.acme_key, "joinTokens.list", on_pool(w));
  CHECK(first.items() == 100);
  std::vector<std::string> all;
  fields input = with(on_pool(w), "limit", "25");
  int pages = 0;
  while (true) {
    auto page = w.call(w.acme_key, "joinTokens.list", input);
    REQUIRE(page.status == 200);
    auto ids = page.ids();
    all.insert(all.end(), ids.begin(), ids.end());
    ++pages;
    if (!page.has("/cursor"))
      break;
    input["cursor"] = json_string(page.at("/cursor"));
  }
  CHECK(pages == 5);
  CHECK(all.size() == 105);
  CHECK(std::is_sorted(all.begin(), all.end()));
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == 105);
}
