// Every event that is written can be read, and nothing else can.
#include "events/catalog.hpp"
#include "events/event_names.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::sampler;
using bc::testing::stored;

namespace {

constexpr int rounds = 200;

// Writes it, reads it, and holds that the catalogue sees the same moves.
template <class Event, class Encode, class Decode>
Event through(const Event& event, Encode encode, Decode decode) {
  auto write = encode(event);
  auto e = stored(write, "x:1");
  auto effect = moves_of(e);
  REQUIRE(effect);
  CHECK(effect.value() == write.effect);
  auto back = decode(e);
  INFO(write.data << write.internal);
  REQUIRE(back);
  auto again = encode(back.value());
  CHECK(again.data == write.data);
  CHECK(again.internal == write.internal);
  return std::get<Event>(back.value());
}

}  // namespace

TEST_CASE("codec: tokens come back as they were") {
  sampler random{11};
  for (int i = 0; i < rounds; ++i) {
    auto c = random.token_created();
    CHECK(through(c, join_token::encode, join_token::decode) == c);
    join_token::redeemed r{c.id, random.id<node_id>(), random.hex()};
    CHECK(through(r, join_token::encode, join_token::decode) == r);
    join_token::revoked v{c.id, c.pool, random.time()};
    if (!c.pool)
      v.site = c.site;
    CHECK(through(v, join_token::encode, join_token::decode) == v);
    CHECK((join_token::encode(c).type == name::site_token_created) == !c.pool);
    CHECK((join_token::encode(v).type == name::site_token_revoked) == !c.pool);
  }
}

TEST_CASE("codec: nodes come back as they were") {
  sampler random{12};
  for (int i = 0; i < rounds; ++i) {
    auto j = random.node_joined();
    auto b = through(j, node::encode, node::decode);
    CHECK(b.id == j.id);
    CHECK(b.tenant == j.tenant);
    CHECK(b.site == j.site);
    CHECK(b.pool == j.pool);
    CHECK(b.attestor == j.attestor);
    CHECK(b.reclaim == j.reclaim);
    CHECK(b.hardware_key == j.hardware_key);
    CHECK(b.hardware_key_trusted == j.hardware_key_trusted);
    CHECK(b.node_key == j.node_key);
    CHECK(b.token == j.token);
    CHECK(b.cert == j.cert);
    CHECK(b.at == j.at);
    CHECK(b.claims.product_uuid == j.claims.product_uuid);
    CHECK(b.claims.product_serial == j.claims.product_serial);
    CHECK(b.claims.board_serial == j.claims.board_serial);
    CHECK(b.claims.chassis_serial == j.claims.chassis_serial);
    CHECK(b.claims.macs == j.claims.macs);
    CHECK(b.claims.gpu_uuids == j.claims.gpu_uuids);
    CHECK(b.claims.hostname == j.claims.hostname);
    CHECK(b.answer_subject == j.answer_subject);
    CHECK(b.answer_body == j.answer_body);
    CHECK(b.answer_signature == j.answer_signature);
    auto r = random.node_renewed(j);
    CHECK(through(r, node::encode, node::decode) == r);
    node::adopted a{j.id, random.time()};
    CHECK(through(a, node::encode, node::decode) == a);
  }
}

TEST_CASE("codec: join requests come back as they were") {
  sampler random{19};
  for (int i = 0; i < rounds; ++i) {
    auto o = random.request_opened();
    CHECK(through(o, join_request::encode, join_request::decode) == o);
    auto next = random.after_opened(o);
    std::visit(
        [](const auto& e) {
          CHECK(through(e, join_request::encode, join_request::decode) == e);
        },
        next);
  }
}

TEST_CASE("codec: the other streams come back as they were") {
  sampler random{13};
  for (int i = 0; i < rounds; ++i) {
    tenant::created t{random.id<tenant_id>(), random.text(), random.coin(),
                      random.time()};
    CHECK(through(t, tenant::encode, tenant::decode) == t);
    site::created s{random.id<site_id>(), t.id, random.text(),
                    static_cast<site::kind>(random.below(3)), random.time()};
    if (random.coin())
      s.dedicated_to = random.id<tenant_id>();
    CHECK(through(s, site::encode, site::decode) == s);
    site::updated su{s.id,          random.text(), s.dedicated_to,
                     random.time(), t.id,          random.text()};
    CHECK(through(su, site::encode, site::decode) == su);
    site::deleted sd{s.id, random.time(), t.id, random.text()};
    CHECK(through(sd, site::encode, site::decode) == sd);
    pool::created p{random.id<pool_id>(),
                    t.id,
                    s.id,
                    random.text(),
                    static_cast<pool::agent>(random.below(2)),
                    random.time(),
                    random.pool_policy()};
    CHECK(through(p, pool::encode, pool::decode) == p);
    pool::updated pu{
        p.id,          random.text(), p.pool_agent, random.pool_policy(),
        random.time(), t.id,          random.text()};
    CHECK(through(pu, pool::encode, pool::decode) == pu);
    pool::archived pa{p.id, random.time(), t.id, random.text()};
    CHECK(through(pa, pool::encode, pool::decode) == pa);
    credential::created c{random.id<credential_id>(),
                          t.id,
                          random.text(),
                          {},
                          random.time(),
                          random.hex()};
    for (auto n = random.below(3); n > 0; --n)
      c.grants.push_back({random.text(), random.text()});
    CHECK(through(c, credential::encode, credential::decode) == c);
    credential::revoked cr{c.id, random.text(), random.time()};
    CHECK(through(cr, credential::encode, credential::decode) == cr);
    refusal::refused r{"join-token",
                       "join:csr",
                       random.coin() ? "node" : "",
                       random.coin() ? random.hex() : "",
                       random.coin() ? random.hex() : "",
                       random.below(1000)};
    CHECK(through(r, refusal::encode, refusal::decode) == r);
    refusal::renew_refused rr{
        "renew:proof", random.coin() ? random.id<node_id>().str() : "",
        random.coin() ? random.hex(16) : "", random.coin() ? random.hex() : "",
        random.below(1000)};
    CHECK(through(rr, refusal::encode, refusal::decode) == rr);
    pki_bundle::initialized k{"d.example",   random.text(), random.text(),
                              random.text(), random.time(), random.text()};
    CHECK(through(k, pki_bundle::encode, pki_bundle::decode) == k);
    pki_bundle::rotated o{
        random.coin() ? pki_bundle::step::prepared : pki_bundle::step::retired,
        {"node-ca", "serving-ca"},
        {random.text(), random.text(), random.text()},
        random.time(),
        random.text()};
    CHECK(through(o, pki_bundle::encode, pki_bundle::decode) == o);
  }
}

TEST_CASE("codec: events of before there were policies are read") {
  auto read = [](std::string type, std::string data) {
    envelope e;
    e.type = std::move(type);
    e.data = std::move(data);
    e.internal = "{}";
    return e;
  };
  auto text = [](const auto& id) { return "\"" + id.str() + "\""; };
  auto t = testing::fixed_id<tenant_id>(1);
  auto s = testing::fixed_id<site_id>(2);
  auto p = testing::fixed_id<pool_id>(3);
  auto token = testing::fixed_id<join_token_id>(4);
  const std::string when = "\"2026-11-29T12:00:00.000Z\"";
  auto old_site = site::decode(read(
      "site.created", "{\"siteId\":" + text(s) + ",\"tenantId\":" + text(t) +
                          R"(,"name":"a","kind":"dedicated","createdAt":)" +
                          when + "}"));
  REQUIRE(old_site);
  CHECK(!std::get<site::created>(old_site.value()).dedicated_to);
  auto old_pool = pool::decode(read(
      "pool.created",
      "{\"poolId\":" + text(p) + ",\"tenantId\":" + text(t) + ",\"siteId\":" +
          text(s) + R"(,"name":"a","agent":"bcd","createdAt":)" + when + "}"));
  REQUIRE(old_pool);
  CHECK(std::get<pool::created>(old_pool.value()).rules == pool::policy{});
  auto old_revocation = join_token::decode(
      read("security.join-token.revoked", "{\"tokenId\":" + text(token) +
                                              ",\"poolId\":" + text(p) +
                                              ",\"revokedAt\":" + when + "}"));
  REQUIRE(old_revocation);
  CHECK(std::get<join_token::revoked>(old_revocation.value()).pool == p);
}

TEST_CASE("codec: another type or version is not read") {
  auto e = stored(tenant::encode(tenant::created{
                      testing::fixed_id<tenant_id>(1), "a", false, {}}),
                  "tenant:1");
  auto strange = e;
  strange.type = GENERATE("tenant.renamed", "site.created", "");
  auto newer = e;
  newer.type_version = GENERATE(0, 2);
  for (const auto& bad : {strange, newer}) {
    auto read = tenant::decode(bad);
    REQUIRE(!read);
    CHECK(read.error().code == errc::internal);
  }
  CHECK(!moves_of(newer));
  CHECK(moves_of(newer).error().code == errc::internal);
  CHECK(site::decode(e).error().code == errc::internal);
  CHECK(pool::decode(e).error().code == errc::internal);
  CHECK(credential::decode(e).error().code == errc::internal);
  CHECK(join_token::decode(e).error().code == errc::internal);
  CHECK(node::decode(e).error().code == errc::internal);
  CHECK(refusal::decode(e).error().code == errc::internal);
  CHECK(pki_bundle::decode(e).error().code == errc::internal);
}

TEST_CASE("codec: an event that lost a field is damage, and says which") {
  sampler random{14};
  auto write = join_token::encode(random.token_created());
  for (auto broken : {std::string{"{}"}, std::string{"[]"}, std::string{"{"},
                      std::string{}}) {
    auto e = stored(write, "join_token:1");
    e.data = broken;
    CHECK(join_token::decode(e).error().code == errc::internal);
    CHECK(moves_of(e).error().code == errc::internal);
    e = stored(write, "join_token:1");
    e.internal = broken;
    CHECK(join_token::decode(e).error().code == errc::internal);
  }
  auto e = stored(write, "join_token:1", {}, 77);
  e.internal = "{}";
  auto message = join_token::decode(e).error().message;
  CHECK(message.find("event 77") != std::string::npos);
  CHECK(message.find("/internal/tenantId") != std::string::npos);
}

TEST_CASE("codec: no secret hash, certificate or claim is in the data") {
  sampler random{15};
  auto c = random.token_created();
  c.expect.serial = "SN-SECRET-1";
  auto token = join_token::encode(c);
  CHECK(token.data.find(c.secret_sha256) == std::string::npos);
  CHECK(token.data.find("SN-SECRET-1") == std::string::npos);
  CHECK(token.internal.find(c.secret_sha256) != std::string::npos);

  auto o = random.request_opened();
  o.seen.machine.serials = {"SN-SECRET-3"};
  auto request = join_request::encode(o);
  CHECK(request.data.find("SN-SECRET-3") == std::string::npos);
  CHECK(request.data.find(o.subject) == std::string::npos);
  CHECK(request.internal.find("SN-SECRET-3") != std::string::npos);

  auto j = random.node_joined();
  j.claims.product_serial = "SN-SECRET-2";
  auto node = node::encode(j);
  CHECK(node.data.find("SN-SECRET-2") == std::string::npos);
  CHECK(node.data.find(j.cert.csr_sha256) == std::string::npos);
  CHECK(node.internal.find("SN-SECRET-2") != std::string::npos);
}

TEST_CASE("codec: budgets and names follow from the events") {
  using testing::fixed_id;
  sampler random{16};
  auto c = random.token_created();
  auto budget = stream_of(c.id);
  using kind = budget_move::kind;
  CHECK(join_token::encode(c).effect.budgets ==
        std::vector{budget_move{kind::open, budget, c.max_uses}});
  join_token::redeemed r{c.id, random.id<node_id>(), random.hex()};
  CHECK(join_token::encode(r).effect.budgets ==
        std::vector{budget_move{kind::spend, budget, 1}});
  join_token::revoked v{c.id, c.pool, {}};
  CHECK(join_token::encode(v).effect.budgets ==
        std::vector{budget_move{kind::close, budget, 0}});

  auto name = [](const moves& m) { return m.claims.at(0).claim; };
  auto t = fixed_id<tenant_id>(1);
  CHECK(name(tenant::encode(tenant::created{t, "acme", true, {}}).effect) ==
        "name:tenant::acme");
  CHECK(name(site::encode(
                 site::created{
                     fixed_id<site_id>(1), t, "ams", site::kind::custom, {}})
                 .effect) == "name:site:" + t.str() + ":ams");
  CHECK(name(pool::encode(pool::created{fixed_id<pool_id>(1),
                                        t,
                                        fixed_id<site_id>(1),
                                        "gpu",
                                        pool::agent::bcd,
                                        {}})
                 .effect) == "name:pool:" + t.str() + ":gpu");
}

TEST_CASE("codec: a name moves with an update and is free after the end") {
  using testing::fixed_id;
  using kind = claim_move::kind;
  auto t = fixed_id<tenant_id>(1);
  auto claims = [](const event_write& w) { return w.effect.claims; };
  auto move = [&](kind what, const std::string& of, const std::string& name) {
    return claim_move{what, "name:" + of + ":" + t.str() + ":" + name,
                      std::nullopt};
  };
  auto s = fixed_id<site_id>(1);
  CHECK(claims(site::encode(site::updated{s, "b", {}, {}, t, "a"})) ==
        std::vector{move(kind::take, "site", "b"),
                    move(kind::release, "site", "a")});
  CHECK(claims(site::encode(site::updated{s, "a", t, {}, t, "a"})).empty());
  CHECK(claims(site::encode(site::deleted{s, {}, t, "a"})) ==
        std::vector{move(kind::release, "site", "a")});
  auto p = fixed_id<pool_id>(1);
  CHECK(claims(pool::encode(
            pool::updated{p, "b", pool::agent::bcd, {}, {}, t, "a"})) ==
        std::vector{move(kind::take, "pool", "b"),
                    move(kind::release, "pool", "a")});
  CHECK(claims(pool::encode(
                   pool::updated{p, "a", pool::agent::none, {}, {}, t, "a"}))
            .empty());
  CHECK(claims(pool::encode(pool::archived{p, {}, t, "a"})) ==
        std::vector{move(kind::release, "pool", "a")});
}
