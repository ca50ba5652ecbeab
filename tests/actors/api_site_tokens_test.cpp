// Tokens for site agents (spec: api-site-tokens).
#include "tests/actors/api_world.hpp"

#include <catch2/catch.hpp>

#include <regex>
#include <set>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

fields of_site(const tenant_id& tenant, const site_id& site) {
  return {{"tenantId", json_string(tenant.str())},
          {"siteId", json_string(site.str())}};
}

fields site_token(const tenant_id& tenant, const site_id& site,
                  const std::string& key = "k-1") {
  return with(with(of_site(tenant, site), "ttlSeconds", "3600"),
              "idempotencyKey", json_string(key));
}

fields on_token(const tenant_id& tenant, const site_id& site,
                const std::string& id) {
  return with(of_site(tenant, site), "tokenId", json_string(id));
}

std::string without(std::string text, const std::string& field) {
  return std::regex_replace(text, std::regex{"\"" + field + "\":[^,}]*,?"}, "");
}

}  // namespace

TEST_CASE("api site tokens: create answers the record and a bearer") {
  api_world w;
  auto got = w.call(w.acme_key, "siteTokens.create",
                    with(site_token(w.acme, w.site), "maxUses", "16"));
  INFO(got.text);
  REQUIRE(got.status == 200);
  CHECK(got.at("/siteId") == w.site.str());
  CHECK(got.at("/tenantId") == w.acme.str());
  CHECK(got.at("/role") == "site");
  CHECK(got.at("/maxUses") == "16");
  CHECK(got.at("/usesLeft") == "16");
  CHECK(got.at("/expiresAt") == "2026-11-29T13:00:00.000Z");
  CHECK_FALSE(got.has("/poolId"));
  CHECK(got.at("/position") == std::to_string(w.position()));

  auto bearer = events::join_token::parse_bearer(got.at("/token"));
  REQUIRE(bearer);
  CHECK(bearer->id.str() == got.at("/id"));
  w.streams->token(bearer->id, [&](auto state) {
    REQUIRE(state);
    const auto& s = *state.value();
    CHECK_FALSE(
        check_secret(s, events::join_token::secret_digest(bearer->secret)));
    CHECK_FALSE(check_usable(s, pki::certificate_role::site, w.time.now()));
    CHECK(check_usable(s, pki::certificate_role::node, w.time.now()));
  });
  auto told = w.call(w.acme_key, "events.list",
                     {{"tenantId", json_string(w.acme.str())},
                      {"type", "\"security.site-token.created\""}});
  REQUIRE(told.items() == 1);
  CHECK(told.at("/items/0/data/siteId") == w.site.str());
  CHECK(told.at("/items/0/data/maxUses") == "16");
  CHECK(w.count("security.join-token.created") == 0);
}

TEST_CASE("api site tokens: inputs to the letter (cases 21, 144)") {
  api_world w;
  auto good = site_token(w.acme, w.site);
  struct row {
    std::string field, raw, path;
  };
  for (const auto& r :
       std::vector<row>{{"ttlSeconds", "59", "/ttlSeconds"},
                        {"ttlSeconds", "86401", "/ttlSeconds"},
                        {"ttlSeconds", "60.0", "/ttlSeconds"},
                        {"ttlSeconds", "\"60\"", "/ttlSeconds"},
                        {"maxUses", "0", "/maxUses"},
                        {"maxUses", "17", "/maxUses"},
                        {"maxUses", "1e0", "/maxUses"},
                        {"poolId", "\"p\"", "/poolId"},
                        {"expect", "{}", "/expect"},
                        {"idempotencyKey", "\"a b\"", "/idempotencyKey"}}) {
    INFO(r.field << " " << r.raw);
    auto before = w.position();
    auto got =
        w.call(w.acme_key, "siteTokens.create", with(good, r.field, r.raw));
    CHECK(got.code() == "INVALID_INPUT");
    CHECK(got.path() == r.path);
    CHECK(w.position() == before);
  }
  int n = 0;
  for (const auto& [field, raw] : {std::pair{"ttlSeconds", "60"},
                                   {"ttlSeconds", "86400"},
                                   {"maxUses", "1"},
                                   {"maxUses", "16"}})
    CHECK(w.call(w.acme_key, "siteTokens.create",
                 with(site_token(w.acme, w.site, std::to_string(n++)), field,
                      raw))
              .has("/token"));
}

TEST_CASE("api site tokens: platform sites are the root tenant's") {
  api_world w;
  auto shared = w.add_site(w.root, events::site::kind::shared);
  auto dedicated = w.add_site(w.root, events::site::kind::dedicated, w.acme);
  for (const auto& site : {shared, dedicated}) {
    auto seen =
        w.call(w.acme_key, "sites.get", of_site(w.acme, site)).status == 200;
    CHECK(seen);
    auto before = w.position();
    CHECK(w.call(w.acme_key, "siteTokens.create", site_token(w.acme, site))
              .code() == "NOT_FOUND");
    CHECK(w.position() == before);
    CHECK(w.call(w.root_key, "siteTokens.create",
                 site_token(w.root, site, site.str()))
              .has("/token"));
  }
  // Nor has the root tenant any business on a tenant's own site.
  CHECK(w.call(w.root_key, "siteTokens.create", site_token(w.root, w.site))
            .code() == "NOT_FOUND");
}

TEST_CASE("api site tokens: a retry answers the stored record, else CONFLICT") {
  api_world w;
  auto spare = w.add_site(w.acme);
  auto input = site_token(w.acme, w.site);
  auto first = w.call(w.acme_key, "siteTokens.create", input);
  REQUIRE(first.has("/token"));
  auto before = w.position();
  for (const auto& same :
       {input, with(input, "ttlSeconds", "60"), with(input, "maxUses", "3")}) {
    auto got = w.call(w.acme_key, "siteTokens.create", same);
    CHECK(got.status == 200);
    CHECK(without(got.text, "position") ==
          without(without(first.text, "token"), "position"));
  }
  auto other = w.call(w.acme_key, "siteTokens.create",
                      with(input, "siteId", json_string(spare.str())));
  CHECK(other.status == 409);
  CHECK(other.code() == "CONFLICT");
  // A retry needs no grant, and no site that is still there.
  auto weak = w.add_credential(w.acme, "alice", {{"compute:x:y", "z"}});
  CHECK(w.call(weak, "siteTokens.create", input).status == 200);
  CHECK(w.call(weak, "siteTokens.create", site_token(w.acme, w.site, "k-2"))
            .code() == "ACCESS_DENIED");
  CHECK(w.position() == before + 1);  // the credential
  w.call(w.acme_key, "sites.delete", of_site(w.acme, w.site));
  CHECK(w.call(w.acme_key, "siteTokens.create", input).at("/id") ==
        first.at("/id"));
}

TEST_CASE("api site tokens: a key belongs to its caller and its group (19)") {
  api_world w;
  auto bob = w.add_credential(w.acme, "bob", {{"*", "*"}});
  std::set<std::string> ids;
  for (const auto& got :
       {w.call(w.acme_key, "siteTokens.create", site_token(w.acme, w.site)),
        w.call(bob, "siteTokens.create", site_token(w.acme, w.site)),
        w.call(w.other_key, "siteTokens.create",
               site_token(w.other, w.other_site)),
        w.call(w.acme_key, "joinTokens.create", w.token_input("k-1"))}) {
    INFO(got.text);
    CHECK(got.has("/token"));
    ids.insert(got.at("/id"));
  }
  CHECK(ids.size() == 4);
}

TEST_CASE("api site tokens: revoking ends it once") {
  api_world w;
  auto id = w.call(w.acme_key, "siteTokens.create", site_token(w.acme, w.site))
                .at("/id");
  w.time.advance(seconds{5});
  auto first =
      w.call(w.acme_key, "siteTokens.revoke", on_token(w.acme, w.site, id));
  INFO(first.text);
  CHECK(first.at("/revokedAt") == "2026-11-29T12:00:05.000Z");
  w.time.advance(seconds{5});
  auto before = w.position();
  CHECK(w.call(w.acme_key, "siteTokens.revoke", on_token(w.acme, w.site, id))
            .text == first.text);
  CHECK(w.position() == before);
  CHECK(w.count("security.site-token.revoked") == 1);
  CHECK(w.count("security.join-token.revoked") == 0);
  auto told = w.call(w.acme_key, "events.list",
                     {{"tenantId", json_string(w.acme.str())},
                      {"type", "\"security.site-token.revoked\""}});
  CHECK(told.at("/items/0/data/siteId") == w.site.str());
}

TEST_CASE(
    "api site tokens: another site's or kind's token is NOT_FOUND (148)") {
  api_world w;
  auto spare = w.add_site(w.acme);
  auto mine =
      w.call(w.acme_key, "siteTokens.create", site_token(w.acme, w.site))
          .at("/id");
  auto theirs = w.call(w.other_key, "siteTokens.create",
                       site_token(w.other, w.other_site))
                    .at("/id");
  auto of_pool =
      w.call(w.acme_key, "joinTokens.create", w.token_input()).at("/id");
  auto nowhere = "jt_" + std::string(52, '0');
  auto before = w.position();
  const auto unknown =
      w.call(w.acme_key, "siteTokens.revoke", on_token(w.acme, w.site, nowhere))
          .at("/error");
  CHECK_FALSE(unknown.empty());
  for (const auto& input :
       {on_token(w.acme, spare, mine), on_token(w.acme, w.site, theirs),
        on_token(w.acme, w.other_site, theirs),
        on_token(w.acme, w.site, of_pool)}) {
    auto got = w.call(w.acme_key, "siteTokens.revoke", input);
    CHECK(got.status == 404);
    CHECK(got.at("/error") == unknown);
  }
  // Nor is a site token one of a pool.
  CHECK(w.call(w.acme_key, "joinTokens.revoke",
               {{"tenantId", json_string(w.acme.str())},
                {"poolId", json_string(w.pool.str())},
                {"tokenId", json_string(mine)}})
            .code() == "NOT_FOUND");
  CHECK(w.call(w.acme_key, "joinTokens.list",
               {{"tenantId", json_string(w.acme.str())},
                {"poolId", json_string(w.pool.str())}})
            .ids() == std::vector{of_pool});
  CHECK(w.position() == before);
}
