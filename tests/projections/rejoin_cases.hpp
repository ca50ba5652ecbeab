#pragma once

#include "tests/projections/query_cases.hpp"

// A node that went on by its expired certificate, on every store. As
// query_cases.hpp.
namespace bc::testing {

TEST_CASE("queries: a node that went on by its certificate is what it was") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 9);
  const auto j = f.join(token);
  f.time.advance(seconds{10});
  f.adopt(j);
  auto row = [&] {
    auto q = f.queries();
    auto found = q->get_node(tenant.str(), j.id.str());
    REQUIRE(found);
    REQUIRE(found.value());
    return *found.value();
  };
  const auto before = row();
  f.time.advance(seconds{2 * 86'400});
  REQUIRE(f.rejoin(j, "renamed"));
  const auto after = row();
  CHECK(after.status == before.status);
  CHECK(after.joined_at == before.joined_at);
  CHECK(after.adopted_at == before.adopted_at);
  CHECK(after.role == before.role);
  CHECK(after.trust == before.trust);
  CHECK(after.hardware_key == before.hardware_key);
  CHECK(after.hardware_key_trusted == before.hardware_key_trusted);
  CHECK(after.attestor == "x509pop");
  CHECK(after.hostname == "renamed");
  CHECK(after.generation == 2);
  CHECK_FALSE(after.acceptance);
  REQUIRE(after.certificate);
  CHECK(after.certificate->serial != j.cert.serial);
  // The token that brought it in still names it.
  auto q = f.queries();
  const auto of_token = walk(9, [&](std::string_view from, int n) {
    return q->list_nodes_of_token(tenant.str(), token.id.str(), from, n);
  });
  CHECK(of_token == std::vector{j.id.str()});
  // As its stream has it, which is what a caller is told of who waits for none.
  const auto s = f.node_state(j.id);
  CHECK(s.generation == after.generation);
  CHECK(s.node->at == after.joined_at);
  CHECK(s.node->attestor == after.attestor);
}

}  // namespace bc::testing
