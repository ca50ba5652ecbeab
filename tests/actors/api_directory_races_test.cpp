// Calls on sites and pools that meet: what each decided on is pinned.
#include "tests/actors/api_world.hpp"
#include "tests/actors/slow_ledger.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;

namespace {

fields site_of(api_world& w) {
  return {{"tenantId", json_string(w.acme.str())},
          {"siteId", json_string(w.site.str())}};
}

fields pool_of(api_world& w) {
  return {{"tenantId", json_string(w.acme.str())},
          {"poolId", json_string(w.pool.str())}};
}

}  // namespace

TEST_CASE("api directory: what ends meanwhile is not built on") {
  api_world w;
  auto slow = std::make_shared<slow_ledger>(*w.store, w.time);
  auto start = [&](const std::string& method, const fields& input) {
    auto got = std::make_shared<reply>();
    auto dot = method.find('.');
    actors::run_api_call(w.env, slow,
                         {method.substr(0, dot), method.substr(dot + 1),
                          "Bearer " + w.acme_key, body_of(input), "req-1", ""},
                         [got](actors::api_reply r) {
                           *got = {r.status, r.body};
                         });
    return got;
  };
  auto site = site_of(w);
  auto pool = pool_of(w);
  // All decide before the first is written; the ends are written first.
  auto archived = start("pools.archive", pool);
  auto deleted = start("sites.delete", site);
  auto again = start("sites.delete", site);
  auto token = start("joinTokens.create", w.token_input());
  auto of_agents =
      start("siteTokens.create",
            with(with(site, "ttlSeconds", "60"), "idempotencyKey", "\"k\""));
  auto built = start("pools.create", with(site, "name", "\"late\""));
  auto renamed = start("pools.update", with(pool, "name", "\"late\""));
  while (slow->flush()) {
  }
  CHECK(archived->status == 200);
  CHECK(deleted->status == 200);
  CHECK(again->status == 200);
  CHECK(again->at("/deletedAt") == deleted->at("/deletedAt"));
  for (const auto& late : {token, of_agents, built, renamed}) {
    INFO(late->text);
    CHECK(late->code() == "INVALID_STATE");
  }
  CHECK(w.count("site.deleted") == 1);
}

TEST_CASE("api directory: of two that want one name, one gets it") {
  api_world w;
  auto slow = std::make_shared<slow_ledger>(*w.store, w.time);
  std::vector<reply> got;
  for (int i = 0; i < 4; ++i)
    actors::run_api_call(
        w.env, slow,
        {"pools", i % 2 == 0 ? "create" : "update", "Bearer " + w.acme_key,
         body_of(with(i % 2 == 0 ? site_of(w) : pool_of(w), "name", "\"one\"")),
         "req-1", ""},
        [&](actors::api_reply r) {
          got.push_back({r.status, r.body});
        });
  while (slow->flush()) {
  }
  REQUIRE(got.size() == 4);
  int good = 0;
  for (const auto& r : got) {
    CHECK((r.status == 200 || r.code() == "ALREADY_EXISTS"));
    good += r.status == 200 ? 1 : 0;
  }
  CHECK(good == 1);
}
