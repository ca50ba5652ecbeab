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

TEST_CASE("projector: a reclaim revokes what the node had") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 2);
  auto first = f.join(token);
  f.adopt(first);
  f.time.advance(seconds{9});
  REQUIRE(f.reclaim(first));

  auto q = f.queries();
  auto n = q->get_node(tenant.str(), first.id.str());
  CHECK(n.value()->generation == 2);
  CHECK(n.value()->status == "adopting");
  CHECK(n.value()->adopted_at == std::nullopt);
  CHECK(n.value()->certificate->serial != first.cert.serial);
  auto certs =
      q->list_certificates(tenant.str(), first.id.str(), f.time.now(), 20);
  REQUIRE(certs.value().shown.size() == 2);
  for (const auto& c : certs.value().shown) {
    bool old = c.generation == 1;
    CHECK(c.revoked_at == (old ? std::optional{f.time.now()} : std::nullopt));
    CHECK(c.revoked_for ==
          (old ? std::optional<std::string>{"reclaimed"} : std::nullopt));
  }
}

TEST_CASE("projector: a node's sessions, to its end (case 67)") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 2);
  auto j = f.join(token);
  auto other = f.join(token);
  auto session = [&] {
    return f.queries()->get_node(tenant.str(), j.id.str()).value()->session;
  };
  CHECK_FALSE(session());
  f.time.advance(seconds{1});
  auto first_at = f.time.now();
  REQUIRE(f.open_session(j, "sess_1", "gw_1"));
  REQUIRE(session());
  CHECK(session()->id == "sess_1");
  CHECK(session()->gateway == "gw_1");
  CHECK(session()->address == "192.0.2.1");
  CHECK(session()->version == "0.1.0");
  CHECK(session()->connected_at == first_at);
  CHECK_FALSE(session()->disconnected_at);
  f.time.advance(seconds{1});
  REQUIRE(f.open_session(j, "sess_2", "gw_2"));
  CHECK(session()->id == "sess_2");
  CHECK(session()->gateway == "gw_2");
  CHECK(session()->connected_at == f.time.now());
  f.time.advance(seconds{1});
  REQUIRE(f.decide_on(j, ev::node::disconnect{f.time.now(), "sess_2",
                                              ev::node::session_end::lost}));
  CHECK(session()->disconnected_at == f.time.now());
  CHECK(session()->reason == "lost");
  REQUIRE(f.open_session(j, "sess_3"));
  CHECK_FALSE(session()->disconnected_at);
  CHECK_FALSE(session()->reason);
  REQUIRE(f.decide_on(j, ev::node::cordon{f.time.now(), ""}));
  f.time.advance(seconds{1});
  REQUIRE(f.decide_on(j, ev::node::retire{f.time.now(), ""}));
  CHECK(session()->id == "sess_3");
  CHECK(session()->disconnected_at == f.time.now());
  CHECK(session()->reason == "cut");
  CHECK_FALSE(
      f.queries()->get_node(tenant.str(), other.id.str()).value()->session);
}

TEST_CASE("projector: acceptance begins, fails, and is over") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 20);
  auto j = f.join(token);
  while (!j.acceptance)
    j = f.join(token);
  auto row = [&] {
    return *f.queries()->get_node(tenant.str(), j.id.str()).value();
  };
  CHECK_FALSE(row().acceptance_started_at);
  REQUIRE(f.open_session(j, "sess_1"));
  CHECK(row().acceptance_started_at == f.time.now());
  f.time.advance(seconds{1});
  REQUIRE(f.decide_on(
      j, ev::node::acceptance_result{f.time.now(), {"burn-in", "links"}}));
  CHECK(row().acceptance_failed_at == f.time.now());
  CHECK(row().failed_checks == R"(["burn-in","links"])");
  SECTION("adopted after a fix") {
    REQUIRE(f.decide_on(j, ev::node::adopt{f.time.now()}));
    CHECK(row().status == "adopted");
  }
  SECTION("reclaimed: it runs again (case 63)") {
    REQUIRE(f.reclaim(j));
    CHECK_FALSE(row().acceptance_started_at);
  }
  CHECK_FALSE(row().acceptance_failed_at);
  CHECK_FALSE(row().failed_checks);
}

TEST_CASE("projector: what operators decide on a node") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 2);
  auto j = f.join(token);
  auto other = f.join(token);
  auto node = [&] {
    auto found = f.queries()->get_node(tenant.str(), j.id.str());
    REQUIRE(found);
    REQUIRE(found.value());
    return *found.value();
  };
  CHECK(node().trust == ev::node::trust_text(j.node_trust));
  CHECK(node().acceptance == j.acceptance);
  f.time.advance(seconds{1});
  auto cordoned_at = f.time.now();
  REQUIRE(f.decide_on(j, ev::node::cordon{cordoned_at, "smoke"}));
  CHECK(node().status == "cordoned");
  CHECK(node().cordoned_at == cordoned_at);
  CHECK(node().cordon_reason == "smoke");
  f.time.advance(seconds{1});
  REQUIRE(f.decide_on(j, ev::node::suspect_clone{f.time.now()}));
  CHECK(node().clone_suspected_at == f.time.now());
  // A token does not lift an operator's word.
  REQUIRE(f.reclaim(j));
  CHECK(node().status == "cordoned");
  CHECK(node().cordoned_at == cordoned_at);
  REQUIRE(f.decide_on(j, ev::node::adopt{f.time.now()}));
  CHECK(node().status == "adopted");
  CHECK(node().adopted_at == f.time.now());
  CHECK(node().cordoned_at == std::nullopt);
  CHECK(node().cordon_reason == std::nullopt);
  REQUIRE(f.decide_on(j, ev::node::revoke_identity{f.time.now(), "stolen"}));
  CHECK(node().certificate->revoked_at == f.time.now());
  CHECK(node().certificate->revoked_for == "revoked");
  REQUIRE(f.decide_on(j, ev::node::cordon{f.time.now(), ""}));
  CHECK(node().cordon_reason == std::nullopt);
  REQUIRE(f.decide_on(j, ev::node::retire{f.time.now(), "sold"}));
  CHECK(node().status == "retired");
  CHECK(node().retired_at == f.time.now());
  CHECK(node().cordoned_at == std::nullopt);

  auto untouched = f.queries()->get_node(tenant.str(), other.id.str());
  CHECK(untouched.value()->status == "adopting");
  CHECK(untouched.value()->certificate->revoked_at == std::nullopt);
}

TEST_CASE("projector: a renewed certificate is the node's, beside the others") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto j = f.join(f.add_token(tenant, pool, site));
  auto other = f.join(f.add_token(tenant, pool, site));
  f.adopt(j);
  f.time.advance(seconds{3600});
  REQUIRE(f.renew(j));
  const auto state = f.node_state(j.id);
  REQUIRE(state.certificates.size() == 2);
  const auto& newest = state.certificates.back().cert;
  auto q = f.queries();
  auto node = q->get_node(tenant.str(), j.id.str());
  REQUIRE(node.value()->certificate);
  CHECK(node.value()->certificate->serial == newest.serial);
  CHECK(node.value()->certificate->not_after == newest.not_after);
  CHECK(node.value()->certificate->generation == 1);
  CHECK(node.value()->status == "adopted");
  CHECK(node.value()->joined_at == j.at);
  auto certs = q->list_certificates(tenant.str(), j.id.str(), f.time.now(), 20);
  CHECK(certs.value().shown.size() == 2);
  CHECK(
      q->get_node(tenant.str(), other.id.str()).value()->certificate->serial ==
      other.cert.serial);
  // All of them end with the identity.
  REQUIRE(f.decide_on(j, ev::node::revoke_identity{f.time.now(), ""}));
  certs = f.queries()->list_certificates(tenant.str(), j.id.str(), f.time.now(),
                                         20);
  for (const auto& c : certs.value().shown)
    CHECK(c.revoked_at == f.time.now());
}

TEST_CASE("queries: of a node's certificates the newest, and those that live") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 2);
  auto j = f.join(token);
  auto other = f.join(token);
  std::vector<std::string> serials{j.cert.serial};
  auto renew = [&](const events::node::certificate& by) {
    f.time.advance(seconds{60});
    auto next = f.random.node_renewed(j);
    next.cert.not_before = f.time.now() - seconds{300};
    next.cert.not_after = f.time.now() + seconds{86'100};
    next.cert.generation = 1;
    next.previous_serial = by.serial;
    next.at = f.time.now();
    REQUIRE(f.decide_on(j, ev::node::renew{next}));
    serials.push_back(next.cert.serial);
  };
  // All by its first one, which stays therefore.
  for (int i = 0; i < 30; ++i)
    renew(j.cert);
  auto shown = [&](int most) {
    auto got = f.queries()->list_certificates(tenant.str(), j.id.str(),
                                              f.time.now(), most);
    REQUIRE(got);
    CHECK(got.value().total == 31);
    std::vector<std::string> out;
    for (const auto& c : got.value().shown)
      out.push_back(c.serial);
    return out;
  };
  std::vector<std::string> want{serials.rbegin(), serials.rbegin() + 20};
  want.push_back(serials.front());
  CHECK(shown(20) == want);
  CHECK(shown(200).size() == 31);
  // The newest seven live, and the first.
  CHECK(shown(1).size() == 8);
  f.time.advance(seconds{86'100});
  CHECK(shown(20).size() == 20);
  auto alone = f.queries()->list_certificates(tenant.str(), other.id.str(),
                                              f.time.now(), 20);
  CHECK(alone.value().total == 1);
  CHECK(f.queries()
            ->list_certificates(f.add_tenant().str(), j.id.str(), f.time.now(),
                                20)
            .value()
            .total == 0);
}

TEST_CASE("projector: each decision has its row in the audit") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 2);
  f.actor = "machine";
  f.correlation = "req-join";
  auto j = f.join(token);
  f.actor = "system";
  f.adopt(j);
  f.actor = "alice";
  f.correlation = "req-cordon";
  f.time.advance(seconds{1});
  REQUIRE(f.decide_on(j, ev::node::cordon{f.time.now(), "smoke"}));
  REQUIRE(f.decide_on(j, ev::node::retire{f.time.now(), ""}));

  projections::audit_filter which;
  which.tenant = tenant.str();
  which.resource = "compute-node/" + j.id.str();
  auto rows = f.queries()->list_audit(which, "", 10);
  REQUIRE(rows);
  std::vector<std::string> actions;
  for (const auto& row : rows.value().items)
    actions.push_back(row.action);
  CHECK(actions == std::vector<std::string>{"node.joined",
                                            "compute:nodes:cordon",
                                            "compute:nodes:delete"});
  const auto& joined = rows.value().items.at(0);
  CHECK(joined.tenant == tenant.str());
  CHECK(joined.principal == "machine");
  CHECK(joined.correlation == "req-join");
  CHECK(joined.event == "node.joined");
  CHECK(joined.details.find(j.cert.serial) != std::string::npos);
  const auto& cordon = rows.value().items.at(1);
  CHECK(cordon.principal == "alice");
  CHECK(cordon.correlation == "req-cordon");
  CHECK(cordon.at == f.time.now());
  CHECK(cordon.position > joined.position);
  CHECK(cordon.details.find("smoke") != std::string::npos);
}

}  // namespace bc::testing
