// What each event does to the read models.
#include "projections/projector.hpp"

#include "events/event_names.hpp"
#include "store_fixture.hpp"

using namespace bc;
using namespace bc::testing;
namespace ev = bc::events;

TEST_CASE("projector: a join shows in every table it touches") {
  store_fixture f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto token = f.add_token(tenant, pool, site, 2);
  auto j = f.join(token);
  auto q = f.queries();

  auto tokens = q->list_join_tokens(tenant.str(), pool.str(), false,
                                    f.time.now(), "", 10);
  REQUIRE(tokens);
  REQUIRE(tokens.value().items.size() == 1);
  const auto& t = tokens.value().items[0];
  CHECK(t.id == token.id.str());
  CHECK(t.tenant == tenant.str());
  CHECK(t.pool == pool.str());
  CHECK(t.site == site.str());
  CHECK(t.role == ev::join_token::role_text(token.token_role));
  CHECK(t.max_uses == 2);
  CHECK(t.uses_left == 1);
  CHECK(t.expect == token.expect);
  CHECK(t.allow_reclaim == token.allow_reclaim);
  CHECK(t.hosted == token.hosted);
  CHECK(t.created_at == token.created_at);
  CHECK(t.expires_at == token.expires_at);
  CHECK(t.revoked_at == std::nullopt);

  auto found = q->get_node(tenant.str(), j.id.str());
  REQUIRE(found);
  REQUIRE(found.value());
  const auto& n = *found.value();
  CHECK(n.site == site.str());
  CHECK(n.pool == pool.str());
  CHECK(n.status == "adopting");
  CHECK(n.attestor == j.attestor);
  CHECK(n.hardware_key == j.hardware_key);
  CHECK(n.hardware_key_trusted == j.hardware_key_trusted);
  CHECK(n.hostname == j.claims.hostname);
  CHECK(n.node_key == j.node_key);
  CHECK(n.role == pki::role_text(j.cert.role));
  CHECK(n.generation == 1);
  CHECK(n.joined_at == j.at);
  CHECK(n.adopted_at == std::nullopt);
  REQUIRE(n.certificate);
  CHECK(n.certificate->serial == j.cert.serial);
  CHECK(n.certificate->node == j.id.str());
  CHECK(n.certificate->spki_sha256 == j.cert.spki_sha256);
  CHECK(n.certificate->not_before == j.cert.not_before);
  CHECK(n.certificate->not_after == j.cert.not_after);
  CHECK(n.certificate->revoked_at == std::nullopt);

  f.time.advance(seconds{5});
  f.adopt(j);
  f.revoke(token);
  auto adopted = q->get_node(tenant.str(), j.id.str());
  CHECK(adopted.value()->status == "adopted");
  CHECK(adopted.value()->adopted_at == f.time.now());
  auto all =
      q->list_join_tokens(tenant.str(), pool.str(), true, f.time.now(), "", 10);
  CHECK(all.value().items.at(0).revoked_at == f.time.now());
}

TEST_CASE("projector: another join of a node revokes what it had") {
  store_fixture f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 2);
  auto first = f.join(token);
  f.adopt(first);
  auto second = f.random.node_joined();
  second.id = first.id;
  second.tenant = tenant;
  second.cert.generation = 2;
  second.at = f.time.now() + seconds{9};
  f.append({f.on(stream_of(first.id), tenant, {ev::node::encode(second)})});

  auto q = f.queries();
  auto n = q->get_node(tenant.str(), first.id.str());
  CHECK(n.value()->generation == 2);
  CHECK(n.value()->status == "adopting");
  CHECK(n.value()->adopted_at == std::nullopt);
  CHECK(n.value()->certificate->serial == second.cert.serial);
  auto certs = q->list_certificates(tenant.str(), first.id.str());
  REQUIRE(certs.value().size() == 2);
  for (const auto& c : certs.value())
    CHECK(c.revoked_at ==
          (c.generation == 1 ? std::optional{second.at} : std::nullopt));
}

TEST_CASE("projector: what does not fit is a fault") {
  store_fixture f;
  f.close();
  auto db = f.connect();
  auto apply = [&](const ev::event_write& write, int version = 1) {
    auto e = stored(write, "x:1", {}, 7);
    e.type_version = version;
    return f.projector->apply(*db, e);
  };
  auto token = f.random.token_created();
  ev::join_token::redeemed use{token.id, f.random.id<node_id>(), "aa"};
  ev::node::adopted adopted{f.random.id<node_id>(), f.time.now()};
  auto strange = ev::join_token::encode(token);
  strange.type = "security.join-token.painted";
  auto broken = ev::join_token::encode(token);
  broken.data = "{}";

  for (const auto& write :
       {ev::join_token::encode(use), ev::node::encode(adopted), strange, broken,
        ev::join_token::encode(
            ev::join_token::revoked{token.id, token.pool, {}})}) {
    INFO(write.type);
    auto answer = apply(write);
    REQUIRE(!answer);
    CHECK(answer.error().code == errc::internal);
  }
  CHECK(!apply(ev::join_token::encode(token), 2));
  CHECK(ask(*db, "select count(*) from join_tokens") == "0");
  CHECK(ask(*db, "select position from projection_checkpoint") == "0");

  // More uses than the token had.
  REQUIRE(apply(ev::join_token::encode(token)));
  for (std::int64_t i = 0; i < token.max_uses; ++i)
    REQUIRE(apply(ev::join_token::encode(use)));
  CHECK(!apply(ev::join_token::encode(use)));
  CHECK(ask(*db, "select uses_left from join_tokens") == "0");
}

TEST_CASE("projector: events without a read model move the checkpoint alone") {
  store_fixture f;
  auto tenant = f.random.id<tenant_id>();
  auto before = ask(*f.connect(), "select position from projection_checkpoint");
  ev::refusal::refused r{"join-token", "join:csr", "node", "aa", "", 0};
  f.append({f.on(ev::refusal_stream(tenant, "join-token", "join:csr"), tenant,
                 {ev::refusal::encode(r)})});
  f.append({f.on("pki", tenant,
                 {ev::pki_bundle::encode(ev::pki_bundle::initialized{})})});
  CHECK(before == "0");
  CHECK(ask(*f.connect(), "select position from projection_checkpoint") == "2");
  CHECK(ask(*f.connect(), "select count(*) from parked_streams") == "0");
}

TEST_CASE("projector: a poison event parks its stream, the others go on") {
  store_fixture f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto bad = f.add_token(tenant, pool, site, 5);
  auto good = f.add_token(tenant, pool, site, 5);
  auto strange = ev::join_token::encode(bad);
  strange.type = "security.join-token.painted";
  strange.effect = {};
  f.append({f.on(stream_of(bad.id), tenant, {strange})});
  f.join(bad);
  f.join(good);
  auto db = f.connect();
  CHECK(ask(*db, "select stream from parked_streams") == stream_of(bad.id));
  CHECK(ask(*db, "select count(*) from nodes") == "2");
  CHECK(ask(*db, "select count(*) from join_tokens where uses_left = 5") ==
        "1");
  CHECK(ask(*db, "select count(*) from join_tokens where uses_left = 4") ==
        "1");
}

TEST_CASE("projector: opening again keeps the rows") {
  store_fixture f;
  f.random_history(20);
  auto sum = f.checksum();
  f.close();
  f.open();
  CHECK(f.checksum() == sum);
  f.add_tenant();
  CHECK(f.checksum() != sum);
}
