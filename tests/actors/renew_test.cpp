#include "events/catalog.hpp"
#include "pki/spiffe.hpp"
#include "tests/actors/renew_world.hpp"

// spec: joining#renewal, DESIGN section 3 (a lost answer)
namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

TEST_CASE("renew: a new certificate with everything of the old but the key") {
  renew_world w;
  const auto m = w.admit(1);
  const auto before = w.node(m.id).certificates.back().cert;
  w.time.advance(seconds{3600});
  auto next = pki::private_key::generate();
  const auto r = w.renewal(m, next);
  const auto head = w.head();
  auto got = w.renew(r, m.leaf());
  REQUIRE(renewed(got));
  CHECK(got.reports.empty());

  // The answer, as a daemon checks it.
  const auto& a = got.answer;
  CHECK(pki::verify(w.keys->join_signing.key.pub(),
                    pki::purpose::renew_response, {as_bytes(a.body)},
                    a.signature));
  CHECK_FALSE(pki::verify(w.keys->join_signing.key.pub(),
                          pki::purpose::join_response, {as_bytes(a.body)},
                          a.signature));
  const auto csr = pki::sha256(r.csr);
  REQUIRE(a.time);
  CHECK(pki::verify(w.keys->join_signing.key.pub(), pki::purpose::server_time,
                    {as_bytes(std::to_string(a.time->time_ms)), csr},
                    a.time->signature));
  auto body = wire::decode_joined_body(a.body).value();
  CHECK(body.node_id == m.id.str());
  CHECK(body.csr_sha256 == to_bytes(csr));
  CHECK(body.role == "node");
  CHECK(body.site_id == w.site.str());

  auto leaf = pki::parse_certificate(body.certificate_chain.front()).value();
  CHECK(leaf.key == next.pub());
  CHECK(leaf.role == pki::certificate_role::node);
  CHECK(leaf.uris == std::vector<std::string>{pki::to_uri(
                         {w.keys->trust_domain, w.site.str(), m.id.str()})});
  CHECK(leaf.not_after - leaf.not_before == pki::max_node_lifetime);
  CHECK(leaf.not_before == w.time.now() - pki::backdating);
  CHECK(pki::is_signed_by(body.certificate_chain.front(),
                          w.keys->node_ca.certificate));

  // The one event.
  auto events = w.after(head);
  REQUIRE(events.size() == 1);
  CHECK(events[0].type == "node.certificate-renewed");
  CHECK(events[0].tenant == w.owner.str());
  CHECK(events[0].actor == "machine");
  auto e = std::get<node::renewed>(node::decode(events[0]).value());
  CHECK(e.previous_serial == before.serial);
  CHECK(e.cert.generation == 1);
  CHECK(e.cert.serial == leaf.serial);
  CHECK(e.cert.der == body.certificate_chain.front());

  // Both are good, and the new one renews in its turn (case 105).
  const auto state = w.node(m.id);
  CHECK(state.generation == 1);
  CHECK(std::ranges::all_of(state.certificates, [&](const auto& i) {
    return node::is_live(i, w.time.now());
  }));
  w.renew_well(member_of(a, next));
  CHECK(w.journal->verify({events::moves_of}).has_value());
}

TEST_CASE(
    "renew: role and statements come from the certificate, never the CSR") {
  renew_world w;
  auto m = w.admit(1);
  // As an attestor would have written it.
  const std::vector<std::string> statements = {"urn:bc:test:one",
                                               "urn:bc:test:two"};
  auto key = pki::private_key::generate();
  const auto made = pki::issue_node_certificate(w.keys->node_ca,
                                                {key.pub(),
                                                 w.keys->trust_domain,
                                                 w.site.str(),
                                                 m.id.str(),
                                                 pki::certificate_role::ramdisk,
                                                 statements,
                                                 w.time.now(),
                                                 pki::max_ramdisk_lifetime,
                                                 {}});
  auto old = w.node(m.id).certificates.back().cert;
  old.serial = made.serial;
  old.spki_sha256 = to_hex(key.pub().spki_sha256());
  old.role = pki::certificate_role::ramdisk;
  old.not_after = made.not_after;
  old.statements = statements;
  old.der = made.der;
  old.csr_sha256 = std::string(64, 'd');
  w.append<node::event>(
      events::stream_of(m.id),
      node::renewed{m.id, w.owner, old, "", w.time.now(), "aa", "", {}},
      w.owner);
  const member holder{
      m.id, key.clone(), {made.der, w.keys->node_ca.certificate}};
  const auto after = w.renew_well(holder);
  auto leaf = pki::parse_certificate(after.leaf()).value();
  CHECK(leaf.role == pki::certificate_role::ramdisk);
  REQUIRE(leaf.uris.size() == 3);
  CHECK(leaf.uris[1] == statements[0]);
  CHECK(leaf.uris[2] == statements[1]);
  CHECK(leaf.not_after - leaf.not_before == pki::max_ramdisk_lifetime);
}

TEST_CASE("renew: the lifetime is as configured, and a day at most") {
  renew_world w;
  const auto m = w.admit(1);
  w.lifetime = seconds{600};
  auto leaf = pki::parse_certificate(w.renew_well(m).leaf()).value();
  CHECK(leaf.not_after - leaf.not_before == seconds{600});
  w.lifetime = seconds{1'000'000};
  leaf = pki::parse_certificate(w.renew_well(m).leaf()).value();
  CHECK(leaf.not_after - leaf.not_before == pki::max_node_lifetime);
}

TEST_CASE(
    "renew: the answer was lost: asked again, and with a new key "
    "(case 105)") {
  renew_world w;
  const auto m = w.admit(1);
  const auto next = pki::private_key::generate();
  const auto r = w.renewal(m, next);
  auto first = w.renew(r, m.leaf());
  REQUIRE(renewed(first));
  const auto head = w.head();
  w.time.advance(seconds{5});

  SECTION("the same request gets the same answer") {
    auto again = w.renew(r, m.leaf());
    REQUIRE(renewed(again));
    CHECK(without_time(again.answer) == without_time(first.answer));
    CHECK(again.answer.time->time_ms == first.answer.time->time_ms + 5'000);
    CHECK(w.head() == head);
    // So does another proof for the same CSR, and after the minute of the
    // client's time.
    w.time.advance(seconds{100});
    CHECK(renewed(w.renew(r, m.leaf())));
    auto proved_anew = r;
    proved_anew.client_time_ms = to_millis(w.time.now());
    sign(proved_anew, m.key);
    CHECK(renewed(w.renew(proved_anew, m.leaf())));
    CHECK(w.head() == head);
    // After ten minutes it is another attempt, and its key is in use.
    w.time.advance(seconds{600});
    check_renew_refused(w, w.renew(w.renewal(m, next), m.leaf()), head,
                        refusal_reason::renew_csr, w.owner);
  }
  SECTION("the old leaf still renews with a new key; both leaves are good") {
    const auto second = w.renew_well(m);
    CHECK(w.head() == head + 1);
    const auto lost = member_of(first.answer, next);
    CHECK(lost.leaf() != second.leaf());
    for (const auto* one : {&m, &lost, &second})
      w.renew_well(*one);
    // The first answer is void by now.
    const auto now_head = w.head();
    check_renew_refused(w, w.renew(r, m.leaf()), now_head,
                        refusal_reason::renew_replayed, w.owner);
  }
  SECTION("nobody else is given it") {
    const auto other = w.admit(2);
    const auto h = w.head();
    auto stolen = r;
    sign(stolen, other.key);
    check_renew_refused(w, w.renew(stolen, other.leaf()), h,
                        refusal_reason::renew_proof, w.root);
  }
  SECTION("it falls with its certificate") {
    w.command(m.id, node::revoke_identity{w.time.now(), ""});
    const auto h = w.head();
    check_renew_refused(w, w.renew(r, m.leaf()), h,
                        refusal_reason::renew_revoked, w.owner);
  }
}

TEST_CASE("renew: a proof is used once (case 101)") {
  renew_world w;
  const auto m = w.admit(1);
  const auto r = w.renewal(m, pki::private_key::generate());
  REQUIRE(renewed(w.renew(r, m.leaf())));
  w.renew_well(m);
  const auto head = w.head();
  w.time.advance(seconds{30});
  for (int i = 0; i < 3; ++i)
    check_renew_refused(w, w.renew(r, m.leaf()), head,
                        refusal_reason::renew_replayed, w.owner);
  w.time.advance(seconds{31});
  check_renew_refused(w, w.renew(r, m.leaf()), head,
                      refusal_reason::renew_client_time, w.owner);
  // By a clock that was ahead the same proof is in time for two minutes.
  const auto ahead = w.renewal(m, pki::private_key::generate(), seconds{60});
  REQUIRE(renewed(w.renew(ahead, m.leaf())));
  w.renew_well(m);
  const auto after = w.head();
  w.time.advance(seconds{120});
  check_renew_refused(w, w.renew(ahead, m.leaf()), after,
                      refusal_reason::renew_replayed, w.owner);
  // A moment longer it is still remembered, and then out of time.
  w.time.advance(milliseconds{1});
  check_renew_refused(w, w.renew(ahead, m.leaf()), after,
                      refusal_reason::renew_client_time, w.owner);
}

TEST_CASE("renew: a month of renewals leaves the node as small as it was") {
  renew_world w;
  auto m = w.admit(1);
  for (int i = 0; i < 50; ++i) {
    w.time.advance(seconds{14 * 3600});
    m = w.renew_well(m);
    CHECK(w.node(m.id).certificates.size() <= 2);
  }
  CHECK(w.count("node.certificate-renewed") == 50);
}

}  // namespace
}  // namespace bc::test
