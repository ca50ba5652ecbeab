// Sites and pools: who sees them, how they change and end.
#include "events/directory.hpp"

#include "base/json.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::fixed_id;

namespace {

const auto made_at = at("2026-11-29T12:00:00Z");
const auto now = at("2026-11-30T12:00:00Z");
const auto root = fixed_id<tenant_id>(1);
const auto acme = fixed_id<tenant_id>(2);
const auto other = fixed_id<tenant_id>(3);

template <class State, class Event>
State fold(const std::vector<Event>& events) {
  State s;
  for (const auto& e : events)
    s = evolve(std::move(s), e);
  return s;
}

site::created a_site(site::kind kind, std::optional<tenant_id> to = {}) {
  return {fixed_id<site_id>(1), root, "ams", kind, made_at, to};
}

pool::created a_pool() {
  return {fixed_id<pool_id>(1), acme,   fixed_id<site_id>(1), "gpu",
          pool::agent::bcd,     made_at};
}

site::state one_site(site::kind kind, std::optional<tenant_id> to = {}) {
  return fold<site::state>(std::vector<site::event>{a_site(kind, to)});
}

pool::state one_pool() {
  return fold<pool::state>(std::vector<pool::event>{a_pool()});
}

/// The one event that was decided.
template <class Event, class Events>
Event only(const Events& decided) {
  REQUIRE(decided);
  REQUIRE(decided.value().size() == 1);
  return std::get<Event>(decided.value()[0]);
}

pool::policy some_policy() {
  return {{"tpm"}, true, {"burn-in"}};
}

}  // namespace

TEST_CASE("site: who may see it") {
  struct row {
    site::kind kind;
    std::optional<tenant_id> to;
    bool to_acme, to_other;
  };
  for (const auto& r : {row{site::kind::custom, {}, false, false},
                        row{site::kind::shared, {}, true, true},
                        row{site::kind::dedicated, {}, false, false},
                        row{site::kind::dedicated, acme, true, false}}) {
    auto s = a_site(r.kind, r.to);
    INFO(site::kind_text(r.kind));
    CHECK(is_visible_to(s, root));
    CHECK(is_visible_to(s, acme) == r.to_acme);
    CHECK(is_visible_to(s, other) == r.to_other);
    CHECK(is_platform(s) == (r.kind != site::kind::custom));
  }
}

TEST_CASE("site: an update says what can change as it is from now on") {
  auto s = one_site(site::kind::dedicated, acme);
  auto renamed =
      only<site::updated>(decide(s, site::update{"fra", std::nullopt, now}));
  CHECK(renamed == site::updated{s.site->id, "fra", acme, now, root, "ams"});
  auto moved =
      only<site::updated>(decide(s, site::update{std::nullopt, other, now}));
  CHECK(moved == site::updated{s.site->id, "ams", other, now, root, "ams"});

  auto after = evolve(s, renamed);
  CHECK(after.version == 2);
  CHECK(after.site->name == "fra");
  CHECK(after.site->dedicated_to == acme);
  CHECK(after.site->at == made_at);

  SECTION("serving its owner, it serves nobody else") {
    auto alone =
        only<site::updated>(decide(s, site::update{std::nullopt, root, now}));
    CHECK(alone.dedicated_to == std::nullopt);
    CHECK_FALSE(is_visible_to(*evolve(s, alone).site, acme));
  }
  SECTION("what changes nothing is no event") {
    for (const auto& same :
         {site::update{std::nullopt, std::nullopt, now},
          site::update{"ams", acme, now}, site::update{"ams", {}, now}})
      CHECK(decide(s, same).value().empty());
  }
}

TEST_CASE("site: dedicated sites alone serve one tenant") {
  for (auto kind : {site::kind::custom, site::kind::shared}) {
    auto refused =
        decide(one_site(kind), site::update{std::nullopt, acme, now});
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::invalid_input);
    CHECK(refused.error().path == "/dedicatedTo");
  }
}

TEST_CASE("site: it ends once") {
  auto s = one_site(site::kind::custom);
  auto gone = only<site::deleted>(decide(s, site::remove{now}));
  CHECK(gone == site::deleted{s.site->id, now, root, "ams"});
  auto after = evolve(s, gone);
  CHECK(after.deleted_at == now);
  CHECK(after.site == s.site);
  CHECK(decide(after, site::remove{now + seconds{1}}).value().empty());
  CHECK(decide(after, site::update{"fra", std::nullopt, now}).error().code ==
        errc::invalid_state);
  // In a journal, what comes later changes nothing.
  auto late = evolve(
      evolve(after, site::updated{s.site->id, "fra", acme, now, root, "ams"}),
      site::deleted{s.site->id, now + seconds{9}, root, "ams"});
  CHECK(late.site == s.site);
  CHECK(late.deleted_at == now);
  CHECK(late.version == 4);
}

TEST_CASE("site: what is not there is NOT_FOUND") {
  CHECK(decide(site::state{}, site::update{"a", {}, now}).error().code ==
        errc::not_found);
  CHECK(decide(site::state{}, site::remove{now}).error().code ==
        errc::not_found);
  CHECK(decide(pool::state{}, pool::update{"a", {}, {}, now}).error().code ==
        errc::not_found);
  CHECK(decide(pool::state{}, pool::archive{now}).error().code ==
        errc::not_found);
}

TEST_CASE("pool: an update says what can change as it is from now on") {
  auto s = one_pool();
  auto changed = only<pool::updated>(
      decide(s, pool::update{"cpu", pool::agent::none, some_policy(), now}));
  CHECK(changed == pool::updated{s.pool->id, "cpu", pool::agent::none,
                                 some_policy(), now, acme, "gpu"});
  auto after = evolve(s, changed);
  CHECK(after.pool->name == "cpu");
  CHECK(after.pool->pool_agent == pool::agent::none);
  CHECK(after.pool->rules == some_policy());
  CHECK(after.pool->site == s.pool->site);

  // A policy replaces the whole of the old one.
  auto cleared = only<pool::updated>(decide(
      after, pool::update{std::nullopt, std::nullopt, pool::policy{}, now}));
  CHECK(cleared.rules == pool::policy{});
  CHECK(cleared.name == "cpu");
  for (const auto& same :
       {pool::update{std::nullopt, std::nullopt, std::nullopt, now},
        pool::update{"cpu", pool::agent::none, some_policy(), now}})
    CHECK(decide(after, same).value().empty());
}

TEST_CASE("pool: it ends once") {
  auto s = one_pool();
  auto gone = only<pool::archived>(decide(s, pool::archive{now}));
  CHECK(gone == pool::archived{s.pool->id, now, acme, "gpu"});
  auto after = evolve(s, gone);
  CHECK(after.archived_at == now);
  CHECK(decide(after, pool::archive{now + seconds{1}}).value().empty());
  CHECK(decide(after, pool::update{"cpu", {}, {}, now}).error().code ==
        errc::invalid_state);
  auto late =
      evolve(evolve(after, pool::updated{s.pool->id, "cpu", pool::agent::none,
                                         some_policy(), now, acme, "gpu"}),
             pool::archived{s.pool->id, now + seconds{9}, acme, "gpu"});
  CHECK(late.pool == s.pool);
  CHECK(late.archived_at == now);
}

TEST_CASE("pool: a policy without attestors admits them all") {
  pool::policy p;
  for (auto name : {"join-token", "tpm", "discovery", "x509pop"}) {
    CHECK(pool::is_attestor(name));
    CHECK(admits_attestor(p, name));
  }
  CHECK_FALSE(pool::is_attestor("vault"));
  p.join_attestors = {"tpm", "x509pop"};
  CHECK(admits_attestor(p, "tpm"));
  CHECK(admits_attestor(p, "x509pop"));
  CHECK_FALSE(admits_attestor(p, "join-token"));
  CHECK_FALSE(admits_attestor(p, "TPM"));
}

TEST_CASE("pool: a policy as JSON") {
  struct row {
    pool::policy value;
    std::string text;
  };
  for (const auto& r :
       {row{{}, "{}"},
        row{{{"tpm"}, false, {}}, R"({"joinAttestors":["tpm"]})"},
        row{{{}, true, {}}, R"({"kubernetes":{"platformOperated":true}})"},
        row{{{}, false, {"a", "b"}}, R"({"acceptance":{"checks":["a","b"]}})"},
        row{some_policy(),
            R"({"joinAttestors":["tpm"],"kubernetes":{"platformOperated":)"
            R"(true},"acceptance":{"checks":["burn-in"]}})"}}) {
    json::writer out;
    put(out, r.value);
    CHECK(out.str() == r.text);
    auto doc = json::parse_object(r.text);
    REQUIRE(doc);
    auto back = pool::read_policy(json::reader{doc.value()});
    REQUIRE(back);
    CHECK(back.value() == r.value);
  }
  for (const auto* spare :
       {R"({"kubernetes":{}})", R"({"acceptance":{}})",
        R"({"kubernetes":{"platformOperated":false}})", R"({"more":1})"}) {
    auto doc = json::parse_object(spare);
    CHECK(pool::read_policy(json::reader{doc.value()}).value() ==
          pool::policy{});
  }
  for (const auto* bad : {R"({"joinAttestors":"tpm"})", R"({"kubernetes":1})",
                          R"({"acceptance":{"checks":[1]}})"}) {
    auto doc = json::parse_object(bad);
    CHECK(!pool::read_policy(json::reader{doc.value()}));
  }
}
