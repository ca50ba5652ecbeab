#include "base/json.hpp"
#include "pki/certificate.hpp"
#include "tests/actors/join_racing.hpp"

// spec: joining#placeholder-hardware-and-reclaims; CASES 11, 14, 46, 63 to 71
namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

// The nth machine after a reinstall: the same hardware, another key.
machine reinstalled(int n) {
  return make_machine(n);
}

struct known_machine : join_world {
  minted first = mint_token();
  tried joined_first = join(make_machine(1), first.text());
  node_id id = node_of(joined_first.answer);

  std::vector<events::envelope> of_type(std::string_view type,
                                        std::uint64_t after_position) const {
    std::vector<events::envelope> out;
    for (auto& e : after(after_position))
      if (e.type == type)
        out.push_back(e);
    return out;
  }
  /// One reclaim that is admitted.
  void reclaim() {
    auto token = mint_reclaim_token();
    REQUIRE(joined(join(reinstalled(1), token.text())));
  }
};

TEST_CASE("reclaim: the same node, the next generation (case 63)") {
  known_machine w;
  w.command(w.id, node::adopt{w.time.now()});
  const auto before = w.node(w.id);
  w.time.advance(seconds{60});
  auto token = w.mint_reclaim_token();
  auto m = reinstalled(1);
  const auto head = w.head();
  auto got = w.join(m, token.text());
  REQUIRE(joined(got));
  CHECK(got.reports.empty());
  CHECK(node_of(got.answer) == w.id);
  CHECK(w.uses_left(token) == 0);

  const auto written = w.after(head);
  REQUIRE(written.size() == 3);
  CHECK(written.front().commit == written.back().commit);
  CHECK(written[0].type == "security.join-token.redeemed");
  CHECK(written[1].type == "security.certificate-revoked");
  CHECK(written[2].type == "node.joined");
  for (const auto& e : written) {
    CHECK(e.tenant == w.owner.str());
    CHECK(e.actor == "machine");
  }
  auto revoked =
      std::get<node::certificate_revoked>(node::decode(written[1]).value());
  const auto& old = before.certificates.at(0).cert;
  CHECK(revoked.serial == old.serial);
  CHECK(revoked.reason == node::revocation::reclaimed);
  auto j = std::get<node::joined>(node::decode(written[2]).value());
  CHECK(j.reclaim);
  CHECK(j.cert.generation == 2);
  CHECK(j.token == token.token.id.str());

  const auto after = w.node(w.id);
  CHECK(after.generation == 2);
  CHECK(after.current == node::status::adopting);
  CHECK(after.certificates.at(0).revoked_at == w.time.now());
  CHECK(node::current_certificate(after, w.time.now())->serial ==
        j.cert.serial);
  auto body = wire::decode_joined_body(got.answer.body).value();
  CHECK(body.certificate_chain.front() == j.cert.der);
  // The hardware is the node's as before, and the old key stays taken.
  CHECK(
      w.journal->holder(node::hardware_claim(j.hardware_key)).value()->stream ==
      events::stream_of(w.id));
  CHECK(w.journal->holder(node::spki_claim(old.spki_sha256)).value());
}

TEST_CASE("reclaim: without leave nothing of the node is touched (case 63)") {
  known_machine w;
  auto plain = w.mint_token();
  const auto head = w.head();
  check_refused(w, w.join(reinstalled(1), plain.text()), head,
                refusal_reason::join_reclaim, w.owner);
  CHECK(w.uses_left(plain) == 1);
  CHECK(w.node(w.id).generation == 1);
}

TEST_CASE("reclaim: an answer that was lost for good (case 14)") {
  known_machine w;
  auto retry = reinstalled(1);
  auto head = w.head();
  check_refused(w, w.join(retry, w.first.text()), head,
                refusal_reason::token_exhausted, w.owner);
  auto again = w.mint_reclaim_token();
  auto got = w.join(retry, again.text());
  REQUIRE(joined(got));
  CHECK(node_of(got.answer) == w.id);
  CHECK(w.node(w.id).generation == 2);
  CHECK(w.node(w.id).certificates.at(0).revoked_at);
}

TEST_CASE(
    "reclaim: one equal identifier of several is no known machine "
    "(case 46)") {
  known_machine w;
  for (bool leave : {false, true}) {
    CAPTURE(leave);
    auto other = make_machine(leave ? 3 : 2);
    other.claims.product_uuid = make_machine(1).claims.product_uuid;
    auto token = leave ? w.mint_reclaim_token() : w.mint_token();
    auto got = w.join(other, token.text());
    REQUIRE(joined(got));
    CHECK(node_of(got.answer) != w.id);
  }
  CHECK(w.node(w.id).generation == 1);
  CHECK(w.count("security.certificate-revoked") == 0);
}

TEST_CASE("reclaim: hardware that is not trusted is a new node each time") {
  join_world w;
  auto bound = [&] {
    return w.mint_token([](auto& t) {
      t.allow_reclaim = true;
      t.expect.mac = "9c:6b:00:11:22:33";
    });
  };
  auto m = make_machine(1), again = make_machine(1);
  m.claims = again.claims = {};
  m.claims.macs = again.claims.macs = {"9c:6b:00:11:22:33"};
  // Nor do two parts make a machine: they may be moved to another.
  if (GENERATE(false, true))
    m.claims.gpu_uuids =
        again.claims.gpu_uuids = {"GPU-3a1b2c4d-1111-4222-8333-a1b2c3d4e5f6"};
  auto first = w.join(m, bound().text());
  auto second = w.join(again, bound().text());
  REQUIRE(joined(first));
  REQUIRE(joined(second));
  CHECK(node_of(first.answer) != node_of(second.answer));
}

TEST_CASE("reclaim: across pool, site, tenant and role (case 71)") {
  known_machine w;
  using events::pool::agent;
  auto stranger = w.new_tenant("stranger", false);
  auto asked = std::string{"node"};
  auto reason = refusal_reason::join_reclaim;
  auto site = w.site;
  auto whose = w.owner;
  std::optional<pool_id> pool = w.pool;
  auto role = events::join_token::role::node;
  SECTION("another pool of the site") {
    pool = w.new_pool(w.owner, w.site, agent::bcd);
  }
  SECTION("another site") {
    site = w.new_site();
    pool = w.new_pool(w.owner, site, agent::bcd);
  }
  SECTION("another tenant") {
    whose = stranger;
    site = w.new_site(stranger, events::site::kind::custom);
    pool = w.new_pool(stranger, site, agent::bcd);
  }
  SECTION("a site agent") {
    role = events::join_token::role::site;
    pool.reset();
    asked = "site";
  }
  SECTION("another role than the token's") {
    asked = "site";
    reason = refusal_reason::token_role_mismatch;
  }
  auto token = w.mint_token([&](auto& t) {
    t.tenant = whose;
    t.site = site;
    t.pool = pool;
    t.token_role = role;
    t.allow_reclaim = true;
  });
  auto r = w.request(reinstalled(1), token.text());
  r.role = asked;
  r.site_id = site.str();
  const auto head = w.head();
  auto got = w.join(r);
  check_refused(w, got, head, reason, whose);
  CHECK(w.uses_left(token) == 1);
  CHECK(w.node(w.id).generation == 1);
  CHECK(w.node(w.id).node->tenant == w.owner);
  // Whose machine it is, is nobody else's to know.
  const auto& told = got.reports.front().details;
  CHECK(told.find(w.id.str()) == std::string::npos);
  if (whose == stranger)
    CHECK(told.find(w.owner.str()) == std::string::npos);
}

TEST_CASE("reclaim: a pool that takes no tokens takes no reclaims") {
  join_world w;
  w.pool = w.new_pool(w.owner, w.site, events::pool::agent::bcd);
  auto first = w.join(make_machine(1), w.mint_token().text());
  REQUIRE(joined(first));
  w.append<events::pool::event>(events::stream_of(w.pool),
                                events::pool::updated{w.pool,
                                                      "p",
                                                      events::pool::agent::bcd,
                                                      {{"tpm"}, false, {}},
                                                      w.time.now(),
                                                      w.owner,
                                                      w.pool.str()},
                                w.owner);
  const auto head = w.head();
  check_refused(w, w.join(reinstalled(1), w.mint_reclaim_token().text()),
                head + 1, refusal_reason::join_pool_attestor, w.owner);
  CHECK(w.node(node_of(first.answer)).generation == 1);
}

TEST_CASE("reclaim: with the key it has, it is no reclaim (case 90)") {
  known_machine w;
  auto m = make_machine(2);
  auto got = w.join(m, w.mint_token().text());
  REQUIRE(joined(got));
  auto token = w.mint_reclaim_token();
  const auto head = w.head();
  check_refused(w, w.join(m, token.text()), head, refusal_reason::join_csr,
                w.owner);
  CHECK(w.node(node_of(got.answer)).generation == 1);
}

TEST_CASE(
    "reclaim: the third within ten minutes is refused, and told of once "
    "(case 68)") {
  known_machine w;
  w.reclaim();
  w.time.advance(seconds{200});
  w.reclaim();
  auto token = w.mint_reclaim_token();
  const auto head = w.head();
  for (int i = 0; i < 3; ++i) {
    auto got = w.join(reinstalled(1), token.text());
    // The first refusal tells, those after it write nothing.
    check_refused(w, got, head + 1, refusal_reason::join_reclaim, w.owner);
    w.time.advance(seconds{60});
  }
  const auto told = w.of_type("node.clone-suspected", head);
  REQUIRE(told.size() == 1);
  CHECK(told[0].stream == events::stream_of(w.id));
  CHECK(told[0].tenant == w.owner.str());
  CHECK(w.uses_left(token) == 1);
  CHECK(w.node(w.id).generation == 3);

  // Ten minutes after the older of the two, one more may come.
  w.time.advance(seconds{220});
  CHECK(joined(w.join(reinstalled(1), token.text())));
  CHECK(w.node(w.id).generation == 4);
}

TEST_CASE("reclaim: after the operator's revocation the right machine may") {
  known_machine w;
  w.reclaim();
  w.reclaim();
  auto token = w.mint_reclaim_token();
  REQUIRE_FALSE(joined(w.join(reinstalled(1), token.text())));
  w.command(w.id, node::revoke_identity{w.time.now(), "cloned"});
  CHECK(joined(w.join(reinstalled(1), token.text())));
  CHECK(w.node(w.id).generation == 4);
}

TEST_CASE("reclaim: who may not reclaim is never told of as a clone") {
  known_machine w;
  w.reclaim();
  w.reclaim();
  const auto token = w.mint_token();
  const auto head = w.head();
  check_refused(w, w.join(reinstalled(1), token.text()), head,
                refusal_reason::join_reclaim, w.owner);
}

TEST_CASE("reclaim: after the node's end the machine is new (case 64)") {
  known_machine w;
  w.retire(w.id);
  auto m = reinstalled(1);
  auto got = w.join(m, w.mint_token().text());
  REQUIRE(joined(got));
  CHECK(node_of(got.answer) != w.id);
  CHECK(w.node(node_of(got.answer)).generation == 1);
  CHECK(w.node(w.id).current == node::status::retired);
  CHECK_FALSE(node::current_certificate(w.node(w.id), w.time.now()));
}

TEST_CASE("reclaim: a node's end gives no use back (case 11)") {
  known_machine w;
  w.retire(w.id);
  const auto head = w.head();
  check_refused(w, w.join(reinstalled(1), w.first.text()), head,
                refusal_reason::token_exhausted, w.owner);
  CHECK(w.uses_left(w.first) == 0);
}

TEST_CASE("reclaim: a host name decides nothing (case 64)") {
  join_world w;
  auto a = make_machine(1), b = make_machine(2);
  a.claims.hostname = b.claims.hostname = "localhost";
  auto one = w.join(a, w.mint_token().text());
  auto two = w.join(b, w.mint_token().text());
  REQUIRE(joined(one));
  REQUIRE(joined(two));
  CHECK(node_of(one.answer) != node_of(two.answer));
}

TEST_CASE("reclaim: an answer falls with its certificate") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token([](auto& t) { t.max_uses = 2; });
  auto first = w.join(m, token.text());
  REQUIRE(joined(first));
  const auto id = node_of(first.answer);
  const auto claim =
      node::answer_claim(token.token.id.str(), to_hex(m.csr_sha256()));
  REQUIRE(w.journal->holder(claim).value());
  auto reason = refusal_reason::join_csr;
  SECTION("reclaimed") {
    REQUIRE(joined(w.join(reinstalled(1), w.mint_reclaim_token().text())));
    reason = refusal_reason::join_reclaim;
  }
  SECTION("retired") {
    w.retire(id);
  }
  SECTION("revoked") {
    w.command(id, node::revoke_identity{w.time.now(), ""});
    reason = refusal_reason::join_reclaim;
  }
  CHECK_FALSE(w.journal->holder(claim).value());
  // The same join again is a new attempt, with a key that was used.
  const auto head = w.head();
  check_refused(w, w.join(m, token.text()), head, reason, w.owner);
}

TEST_CASE("reclaim: a cordon stays") {
  known_machine w;
  w.command(w.id, node::cordon{w.time.now(), "broken fan"});
  w.reclaim();
  CHECK(w.node(w.id).generation == 2);
  CHECK(w.node(w.id).current == node::status::cordoned);
}

TEST_CASE("reclaim: trust is lowered, and stays so") {
  join_world w;
  w.site = w.new_site(w.root, events::site::kind::shared);
  w.pool = w.new_pool(w.owner, w.site, events::pool::agent::bcd);
  auto role_in = [](const tried& t) {
    return wire::decode_joined_body(t.answer.body).value().role;
  };
  auto first = w.join(make_machine(1), w.mint_token().text());
  REQUIRE(joined(first));
  CHECK(role_in(first) == "node");
  const auto id = node_of(first.answer);
  CHECK(w.node(id).node->node_trust == node::trust::platform);

  auto hosted = w.mint_token([](auto& t) {
    t.allow_reclaim = true;
    t.hosted = "kubernetes";
  });
  auto second = w.join(reinstalled(1), hosted.text());
  REQUIRE(joined(second));
  CHECK(role_in(second) == "node-tenant");
  auto body = wire::decode_joined_body(second.answer.body).value();
  CHECK(pki::parse_certificate(body.certificate_chain.front()).value().role ==
        pki::certificate_role::node_tenant);
  CHECK(w.node(id).node->node_trust == node::trust::tenant_controlled);

  auto third = w.join(reinstalled(1), w.mint_reclaim_token().text());
  REQUIRE(joined(third));
  CHECK(role_in(third) == "node-tenant");
  CHECK(w.node(id).node->node_trust == node::trust::tenant_controlled);
}

TEST_CASE("reclaim: acceptance runs again where the pool has checks") {
  join_world w;
  w.pool = w.new_pool(w.owner, w.site, events::pool::agent::bcd,
                      {{}, false, {"burn-in"}});
  auto first = w.join(make_machine(1), w.mint_token().text());
  REQUIRE(joined(first));
  const auto id = node_of(first.answer);
  CHECK(w.node(id).node->acceptance);
  w.command(id, node::adopt{w.time.now()});
  REQUIRE(joined(w.join(reinstalled(1), w.mint_reclaim_token().text())));
  CHECK(w.node(id).node->acceptance);
  CHECK(w.node(id).current == node::status::adopting);
}

TEST_CASE("join: a token that names a node is for that one") {
  join_world w;
  const auto wanted = pki::mint<node_id>(w.time.now());
  // Being for this node is leave to take it back.
  const bool allow_reclaim = GENERATE(false, true);
  auto mint = [&] {
    return w.mint_token([&](auto& t) {
      t.token_role = events::join_token::role::provisioned;
      t.node = wanted;
      t.allow_reclaim = allow_reclaim;
    });
  };
  auto ask = [&](const machine& m, const minted& token,
                 const std::string& node_claim) {
    auto r = w.request(m, token.text());
    r.node_id = node_claim;
    return w.join(r);
  };
  auto token = mint();
  const auto head = w.head();
  for (const auto& claim : {std::string{}, std::string{"node_x"},
                            pki::mint<node_id>(w.time.now()).str()})
    check_refused(w, ask(make_machine(1), token, claim), head,
                  refusal_reason::join_expect, w.owner);
  auto first = ask(make_machine(1), token, wanted.str());
  REQUIRE(joined(first));
  CHECK(node_of(first.answer) == wanted);
  CHECK(w.node(wanted).generation == 1);

  // Another machine does not become it; its own takes it back.
  auto second = mint();
  check_refused(w, ask(make_machine(2), second, wanted.str()), w.head(),
                refusal_reason::join_reclaim, w.owner);
  REQUIRE(joined(ask(reinstalled(1), second, wanted.str())));
  CHECK(w.node(wanted).generation == 2);
}

TEST_CASE("join: a node claimed without a token for it is refused") {
  join_world w;
  auto token = w.mint_token();
  auto r = w.request(make_machine(1), token.text());
  r.node_id = pki::mint<node_id>(w.time.now()).str();
  const auto head = w.head();
  check_refused(w, w.join(r), head, refusal_reason::join_expect, w.owner);
}

TEST_CASE("join: a site agent joins into its site, without a pool") {
  join_world w;
  auto token = w.mint_token([](auto& t) {
    t.token_role = events::join_token::role::site;
    t.pool.reset();
  });
  auto r = w.request(make_machine(1), token.text());
  const auto head = w.head();
  check_refused(w, w.join(r), head, refusal_reason::token_role_mismatch,
                w.owner);
  r.role = "site";
  auto got = w.join(r);
  REQUIRE(joined(got));
  const auto state = w.node(node_of(got.answer));
  CHECK_FALSE(state.node->pool);
  CHECK(state.node->site == w.site);
  CHECK(state.node->cert.role == pki::certificate_role::site);
  CHECK_FALSE(state.node->acceptance);
  const auto written = w.after(head);
  CHECK(written.back().data.find("poolId") == std::string::npos);
}

}  // namespace
}  // namespace bc::test
