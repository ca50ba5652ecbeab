#pragma once

#include "events/event_names.hpp"
#include "projections/queries.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

// What every store's read models show of an event. The file that includes this
// one says which store it is: bc::testing::read_model_store.
namespace bc::testing {

namespace ev = bc::events;

TEST_CASE("projector: a join shows in every table it touches") {
  read_model_store f;
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
  q = f.queries();
  auto adopted = q->get_node(tenant.str(), j.id.str());
  CHECK(adopted.value()->status == "adopted");
  CHECK(adopted.value()->adopted_at == f.time.now());
  auto all =
      q->list_join_tokens(tenant.str(), pool.str(), true, f.time.now(), "", 10);
  CHECK(all.value().items.at(0).revoked_at == f.time.now());
}

TEST_CASE("projector: another join of a node revokes what it had") {
  read_model_store f;
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

}  // namespace bc::testing
