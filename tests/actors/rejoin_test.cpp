#include "events/catalog.hpp"
#include "events/event_names.hpp"
#include "pki/certificate.hpp"
#include "pki/rotation.hpp"
#include "tests/actors/rejoin_world.hpp"

// spec: ATTESTATION sections 1.2, 3 and 9c: the same node goes on.
namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

node::joined newest_join(const rejoin_world& w, const node_id& id) {
  const auto all =
      w.journal->read_stream(events::stream_of(id), 0, 1000).value();
  std::optional<node::joined> out;
  for (const auto& e : all) {
    const auto event = node::decode(e).value();
    if (const auto* j = std::get_if<node::joined>(&event))
      out = *j;
  }
  REQUIRE(out);
  return *out;
}

TEST_CASE("rejoin: the same node goes on, and is what it was (case 108)") {
  rejoin_world w;
  const auto m = w.admit(1);
  const auto minted_by = w.node(m.id).node->token;
  w.command(m.id, node::adopt{w.time.now()});
  const bool is_cordoned = GENERATE(false, true);
  if (is_cordoned)
    w.command(m.id, node::cordon{w.time.now(), "x"});
  const auto before = w.node(m.id);
  w.be_over_for(seconds{3600});

  const auto next = pki::private_key::generate();
  auto r = w.rejoining(m, 1, next);
  r.hardware.hostname = "renamed";
  // What is claimed is proved too.
  const auto given = w.challenge(r.csr, m.leaf());
  r.x509pop->kid = given.kid;
  r.x509pop->nonce = given.nonce;
  r.x509pop->expires_ms = given.expires_ms;
  sign(r, m.key, given.payload);
  auto got = w.join(r);
  REQUIRE(joined(got));
  CHECK(got.reports.empty());

  const auto after = w.node(m.id);
  CHECK(after.current == before.current);
  CHECK(after.adopted_at == before.adopted_at);
  CHECK(after.cordon.has_value() == is_cordoned);
  CHECK(after.generation == 2);
  CHECK(after.reclaims.empty());
  CHECK(after.node->token == minted_by);
  CHECK(after.node->pool == before.node->pool);
  CHECK(after.node->hardware_key == before.node->hardware_key);
  CHECK(after.node->claims.hostname == "renamed");
  const auto event = newest_join(w, m.id);
  CHECK(event.attestor == "x509pop");
  CHECK_FALSE(event.reclaim);
  CHECK_FALSE(event.acceptance);
  CHECK(event.cert.generation == 2);
  CHECK(event.node_key == "unattested");
  CHECK(w.count("node.reclaimed") == 0);

  const auto body = wire::decode_joined_body(got.answer.body).value();
  CHECK(body.node_id == m.id.str());
  CHECK(body.role == "node");
  CHECK(pki::verify(w.keys->join_signing.key.pub(), pki::purpose::join_response,
                    {as_bytes(got.answer.body)}, got.answer.signature));
  // The new one is renewed as any; the old one is good for nothing.
  const auto back = member_of(got.answer, next);
  w.renew_well(back);
  CHECK_FALSE(renewed(w.renew(m)));
  CHECK_FALSE(joined(w.rejoin(m, 1)));
  CHECK(w.journal->verify({events::moves_of}).has_value());
}

TEST_CASE("rejoin: what its acceptance still has to pass, it has to pass") {
  rejoin_world w;
  const auto pool = w.new_pool(w.owner, w.site, events::pool::agent::bcd,
                               {{}, false, {"burn-in"}});
  auto machine = make_machine(1);
  auto got =
      w.join(machine, w.mint_token([&](auto& t) { t.pool = pool; }).text());
  REQUIRE(joined(got));
  const auto m = member_of(got.answer, machine.key);
  w.be_over_for(seconds{1});
  w.rejoin_well(m, 1);
  CHECK(w.node(m.id).current == node::status::adopting);
  CHECK(w.node(m.id).node->acceptance);
}

TEST_CASE("rejoin: role, statements and allowed kinds are the old ones") {
  rejoin_world w;
  auto key = pki::private_key::generate();
  node::joined j;
  j.id = pki::mint<node_id>(w.time.now());
  j.tenant = w.owner;
  j.site = w.site;
  j.attestor = "join-token";
  j.at = w.time.now();
  j.answer_subject = "jt_of-" + j.id.str();
  j.answer_signature = bytes(64);
  j.cert.role = pki::certificate_role::site;
  j.cert.statements = {"urn:bc:of-a-test:1"};
  j.cert.allowed_kinds = {"ping", "inventory.*"};
  const auto made =
      pki::issue_node_certificate(w.keys->node_ca, {key.pub(),
                                                    w.keys->trust_domain,
                                                    w.site.str(),
                                                    j.id.str(),
                                                    j.cert.role,
                                                    j.cert.statements,
                                                    w.time.now(),
                                                    seconds{86'400},
                                                    {}});
  j.cert.serial = made.serial;
  j.cert.spki_sha256 = to_hex(key.pub().spki_sha256());
  j.cert.not_before = made.not_before;
  j.cert.not_after = made.not_after;
  j.cert.der = made.der;
  j.cert.csr_sha256 = std::string(64, 'e');
  w.append<node::event>(events::stream_of(j.id), j, w.owner);
  const member m{j.id, std::move(key), {made.der}};
  w.be_over_for(seconds{60});

  auto r = answer_to({}, m, 1, pki::private_key::generate(), w.site);
  r.role = "site";
  const auto given = w.challenge(r.csr, m.leaf());
  r.x509pop->kid = given.kid;
  r.x509pop->nonce = given.nonce;
  r.x509pop->expires_ms = given.expires_ms;
  sign(r, m.key, given.payload);
  auto got = w.join(r);
  REQUIRE(joined(got));
  const auto after = w.node(j.id).certificates.back().cert;
  CHECK(after.role == j.cert.role);
  CHECK(after.statements == j.cert.statements);
  CHECK(after.allowed_kinds == j.cert.allowed_kinds);
  const auto body = wire::decode_joined_body(got.answer.body).value();
  const auto leaf =
      pki::parse_certificate(body.certificate_chain.front()).value();
  REQUIRE(leaf.uris.size() == 2);
  CHECK(leaf.uris.back() == j.cert.statements.front());
}

TEST_CASE("rejoin: up to seven days after its end, that moment included") {
  struct at_limit {
    milliseconds over;
    bool good;
  };
  constexpr milliseconds week = seconds{7 * 86'400};
  for (auto [over, good] :
       {at_limit{seconds{0}, true}, at_limit{week - seconds{3600}, true},
        at_limit{week, true}, at_limit{week + milliseconds{1}, false},
        at_limit{week + seconds{1}, false}}) {
    CAPTURE(over.count());
    rejoin_world w;
    const auto m = w.admit(1);
    const auto end = w.node(m.id).certificates.back().cert.not_after;
    w.time.set(end + over);
    const auto r = w.rejoining(m, 1, pki::private_key::generate());
    const auto head = w.head();
    auto got = w.join(r);
    if (good)
      CHECK(joined(got));
    else
      check_rejoin_refused(w, got, head, refusal_reason::x509pop_expired,
                           w.owner);
  }
}

TEST_CASE("rejoin: one that is not over yet is good, and is revoked by it") {
  rejoin_world w;
  const auto m = w.admit(1);
  w.time.advance(seconds{3600});
  const auto back = w.rejoin_well(m, 1);
  CHECK(w.count(events::name::certificate_revoked) == 1);
  const auto s = w.node(m.id);
  CHECK(s.generation == 2);
  for (const auto& i : s.certificates)
    CHECK(node::is_live(i, w.time.now()) == (i.cert.der == back.leaf()));
  // A session by the old one is over with it (notices.cpp).
  const auto head = w.head();
  check_rejoin_refused(w, w.rejoin(m, 1), head, refusal_reason::x509pop_revoked,
                       w.owner);
}

TEST_CASE("rejoin: what an operator did while it was away") {
  rejoin_world w;
  const auto m = w.admit(1);
  w.be_over_for(seconds{3600});
  SECTION("revoked: also after the certificate was over (case 66)") {
    w.command(m.id, node::revoke_identity{w.time.now(), ""});
    CHECK(w.count(events::name::certificate_revoked) == 1);
    check_rejoin_refused(w, w.rejoin(m, 1), w.head(),
                         refusal_reason::x509pop_revoked, w.owner);
    // Once is enough.
    w.command(m.id, node::revoke_identity{w.time.now(), ""});
    CHECK(w.count(events::name::certificate_revoked) == 1);
  }
  SECTION("deleted (case 67)") {
    w.retire(m.id);
    check_rejoin_refused(w, w.rejoin(m, 1), w.head(),
                         refusal_reason::x509pop_node, w.owner);
  }
  SECTION("the pool was archived") {
    w.archive(w.pool);
    check_rejoin_refused(w, w.rejoin(m, 1), w.head(), refusal_reason::join_pool,
                         w.owner);
  }
  SECTION("joined by its machine with a token: the old leaf is forgotten") {
    REQUIRE(w.reclaim(1).id == m.id);
    check_rejoin_refused(w, w.rejoin(m, 1), w.head(),
                         refusal_reason::x509pop_unknown_certificate, w.root);
  }
}

TEST_CASE("rejoin: on other hardware, or on none that can be told") {
  rejoin_world w;
  const auto m = w.admit(1);
  w.be_over_for(seconds{60});
  const auto head = w.head();
  // A stolen key, or a cloned disk.
  check_rejoin_refused(w, w.rejoin(m, 2), head,
                       refusal_reason::x509pop_hardware, w.owner);
  auto r = w.rejoining(m, 1, pki::private_key::generate());
  r.hardware = {};
  const auto given = w.challenge(r.csr, m.leaf());
  r.x509pop->nonce = given.nonce;
  r.x509pop->expires_ms = given.expires_ms;
  sign(r, m.key, given.payload);
  check_rejoin_refused(w, w.join(r), head, refusal_reason::x509pop_hardware,
                       w.owner);
  w.rejoin_well(m, 1);
}

// spec: ATTESTATION section 1.2
TEST_CASE("rejoin: a lost reply is given again, to that CSR and for a while") {
  rejoin_world w;
  const auto m = w.admit(1);
  // Its certificate is over, or, by a clock that is ahead, is not yet.
  const bool is_over = GENERATE(true, false);
  if (is_over)
    w.be_over_for(seconds{60});
  const auto again_as = is_over ? refusal_reason::x509pop_generation
                                : refusal_reason::x509pop_revoked;
  const auto next = pki::private_key::generate();
  const auto r = w.rejoining(m, 1, next);
  const auto first = w.join(r);
  REQUIRE(joined(first));
  const auto head = w.head();
  SECTION("the same bytes, as a relay sends them again") {
    const auto again = w.join(r);
    REQUIRE(joined(again));
    CHECK(again.answer.body == first.answer.body);
    CHECK(again.answer.signature == first.answer.signature);
    CHECK(w.head() == head);
  }
  SECTION("the same CSR with a new challenge, as the machine asks again") {
    w.time.advance(seconds{300});
    auto asked = r;
    const auto given = w.challenge(r.csr, m.leaf());
    asked.x509pop->nonce = given.nonce;
    asked.x509pop->expires_ms = given.expires_ms;
    sign(asked, m.key, given.payload);
    const auto again = w.join(asked);
    REQUIRE(joined(again));
    CHECK(again.answer.body == first.answer.body);
    CHECK(w.head() == head);
    CHECK(again.reports.empty());
  }
  SECTION("another CSR") {
    check_rejoin_refused(w, w.rejoin(m, 1), head, again_as, w.owner);
  }
  SECTION("eleven minutes later") {
    w.time.advance(seconds{660});
    auto asked = r;
    const auto given = w.challenge(r.csr, m.leaf());
    asked.x509pop->nonce = given.nonce;
    asked.x509pop->expires_ms = given.expires_ms;
    sign(asked, m.key, given.payload);
    check_rejoin_refused(w, w.join(asked), head, again_as, w.owner);
  }
  SECTION("by an older generation, and once its certificate was revoked") {
    const auto second = w.rejoin_well(member_of(first.answer, next), 1);
    CHECK(w.node(m.id).generation == 3);
    const auto after = w.head();
    const auto again = w.join(r);
    check_rejoin_refused(w, again, after, again_as, w.owner);
    w.command(m.id, node::revoke_identity{w.time.now(), ""});
    check_rejoin_refused(w, w.rejoin(second, 1), w.head(),
                         refusal_reason::x509pop_revoked, w.owner);
  }
}

TEST_CASE("rejoin: keys that rotate strand nobody") {
  rejoin_world w;
  const auto m = w.admit(1);
  w.be_over_for(seconds{60});
  using pki::key_name;
  SECTION("the node CA, also twice: the certificate is known, not its chain") {
    w.keys = std::make_shared<const pki::key_bundle>(
        pki::make_bundle("compute.example.test", w.time.now()).value());
    const auto back = w.rejoin_well(m, 1);
    CHECK(pki::is_signed_by(back.leaf(), w.keys->node_ca.certificate));
  }
  SECTION("the key that challenges are derived from, between the legs") {
    const auto r = w.rejoining(m, 1, pki::private_key::generate());
    const auto prepared =
        pki::prepare_key(*w.keys, key_name::join_encryption, w.time.now())
            .value();
    const auto active = pki::activate_key(prepared, key_name::join_encryption,
                                          w.time.now(), true)
                            .value();
    if (GENERATE(false, true)) {
      w.keys = std::make_shared<const pki::key_bundle>(
          pki::retire_key(active, key_name::join_encryption, w.time.now(), true)
              .value());
      check_rejoin_refused(w, w.join(r), w.head(),
                           refusal_reason::x509pop_challenge_unknown, w.root);
    } else {
      w.keys = std::make_shared<const pki::key_bundle>(
          pki::activate_key(prepared, key_name::join_encryption, w.time.now(),
                            true)
              .value());
      CHECK(joined(w.join(r)));
    }
  }
}

}  // namespace
}  // namespace bc::test
