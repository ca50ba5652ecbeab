// spec: joining#renewal, ATTESTATION sections 2.7 and 3: a certificate that
// names an AK goes on with a key that this AK certified, and with no other.
#include "actors/joining/key_fault.hpp"
#include "pki/tpm/identity.hpp"
#include "tests/actors/attested_world.hpp"

#include <set>

namespace bc::test {
namespace {

using pki::tpm::ak_statement;
using testing::certification;

std::string statement_of(const certification& c) {
  return ak_statement(c.ak.name());
}

// As bcd makes it, but for what the row breaks.
struct broken {
  certification made;
  std::function<void(wire::key_attestation&)> after;
};
broken break_by(const broken_attestation& row) {
  broken out{{}, row.after};
  row.before(out.made);
  return out;
}

const events::node::certificate& newest(const join_world& w, const member& m) {
  const auto state = w.node(m.id);
  static events::node::certificate kept;
  kept = state.certificates.back().cert;
  return kept;
}

TEST_CASE("key attestation: each code of it is broken by a row") {
  std::set<std::string_view> broken;
  for (const auto& row : broken_attestations())
    broken.insert(pki::tpm::text_of(row.code));
#define BC_X(name, attestor, text) \
  if (is_of_an_attestation(text))  \
    CHECK(broken.contains(         \
        std::string_view{text}.substr(std::string_view{text}.find(':') + 1)));
  BC_RENEW_REFUSAL_REASONS(BC_X)
  BC_X509POP_REFUSAL_REASONS(BC_X)
#undef BC_X
}

TEST_CASE("renew: each fault of an attestation, in its order, to the owner") {
  renew_world w;
  const certification good;
  std::set<std::string_view> seen;
  std::optional<std::string> bytes_of_all;
  for (const auto& row : broken_attestations()) {
    INFO(row.what);
    const auto m = node_with(w, {statement_of(good)}, w.time.now());
    auto b = break_by(row);
    auto r = attested_renewal(w, m, b.made);
    b.after(*r.attestation);
    const auto head = w.head();
    auto got = w.renew(r, m.leaf());
    check_renew_refused(w, got, head, actors::reason_of("renew", row.code),
                        w.owner);
    seen.insert(events::text_of(got.reports.front().reason));
    auto text = without_time(got.answer);
    CHECK(bytes_of_all.value_or(text) == text);
    bytes_of_all = text;
    // Nothing of the proof or the key was spent by it.
    if (row.code != pki::tpm::code::node_key_csr) {
      const certification again;
      CHECK(renewed(w.renew(attested_renewal(w, m, again), m.leaf())));
    }
  }
  CHECK(seen == std::set<std::string_view>{
                    "renew:key-attestation-ak", "renew:node-key-missing",
                    "renew:node-key-malformed", "renew:node-key-magic",
                    "renew:node-key-type", "renew:node-key-signer",
                    "renew:node-key-binding", "renew:node-key-name",
                    "renew:node-key-signature", "renew:node-key-algorithm",
                    "renew:node-key-attributes", "renew:node-key-csr"});
}

TEST_CASE("rejoin: each fault of an attestation, in its order, to the owner") {
  rejoin_world w;
  const certification good;
  std::set<std::string_view> seen;
  std::optional<std::string> bytes_of_all;
  for (const auto& row : broken_attestations()) {
    INFO(row.what);
    const auto m =
        node_with(w, {statement_of(good)}, w.time.now() - seconds{100'000});
    auto b = break_by(row);
    auto r = attested_rejoin(w, m, b.made);
    b.after(*r.x509pop->attestation);
    const auto head = w.head();
    auto got = w.join(r);
    check_rejoin_refused(w, got, head, actors::reason_of("x509pop", row.code),
                         w.owner);
    seen.insert(events::text_of(got.reports.front().reason));
    auto text = without_time(got.answer);
    CHECK(bytes_of_all.value_or(text) == text);
    bytes_of_all = text;
    CHECK(w.node(m.id).generation == 1);
  }
  CHECK(seen == std::set<std::string_view>{
                    "x509pop:key-attestation-ak", "x509pop:node-key-missing",
                    "x509pop:node-key-malformed", "x509pop:node-key-magic",
                    "x509pop:node-key-type", "x509pop:node-key-signer",
                    "x509pop:node-key-binding", "x509pop:node-key-name",
                    "x509pop:node-key-signature", "x509pop:node-key-algorithm",
                    "x509pop:node-key-attributes", "x509pop:node-key-csr"});
}

TEST_CASE("renew: a certified key goes on with the same statement, and on") {
  renew_world w;
  const certification first;
  const auto own = statement_of(first);
  auto m = node_with(w, {own, "urn:bc:other:1"}, w.time.now());
  for (int n = 0; n < 3; ++n) {
    const certification next;
    REQUIRE(statement_of(next) == own);
    auto got = w.renew(attested_renewal(w, m, next), m.leaf());
    REQUIRE(renewed(got));
    CHECK(newest(w, m).statements ==
          std::vector<std::string>{own, "urn:bc:other:1"});
    m = member_of(got.answer, next.node_key);
    auto leaf = pki::parse_certificate(m.leaf());
    REQUIRE(leaf.has_value());
    CHECK(std::ranges::count(leaf.value().uris, own) == 1);
  }
}

TEST_CASE("rejoin: a certified key goes on with the same statement") {
  rejoin_world w;
  const certification next;
  const auto own = statement_of(next);
  const auto m = node_with(w, {own}, w.time.now() - seconds{100'000});
  auto got = w.join(attested_rejoin(w, m, next));
  REQUIRE(joined(got));
  CHECK(newest(w, m).statements == std::vector<std::string>{own});
  CHECK(w.node(m.id).generation == 2);
  CHECK(w.node(m.id).node->node_key == "tpm");
}

TEST_CASE("renew: what a leaf does not say, an attestation does not add") {
  rejoin_world w;
  const certification c;
  auto m = node_with(w, {}, w.time.now());
  SECTION("a good one") {
    auto got = w.renew(attested_renewal(w, m, c), m.leaf());
    REQUIRE(renewed(got));
    CHECK(newest(w, m).statements.empty());
  }
  SECTION("a bad one is nobody's matter") {
    auto r = attested_renewal(w, m, c);
    r.attestation->signature = bytes(3);
    CHECK(renewed(w.renew(r, m.leaf())));
  }
  SECTION("nor in a rejoin") {
    w.time.advance(seconds{100'000});
    REQUIRE(joined(w.join(attested_rejoin(w, m, c))));
    CHECK(newest(w, m).statements.empty());
  }
}

TEST_CASE("renew: of two AKs none is chosen") {
  renew_world w;
  const certification c;
  const auto other =
      ak_statement(testing::make_ak(testing::key_kind::p256, 1).name());
  for (auto statements : {std::vector{statement_of(c), other},
                          std::vector{statement_of(c), statement_of(c)}}) {
    const auto m = node_with(w, statements, w.time.now());
    const auto head = w.head();
    check_renew_refused(w, w.renew(attested_renewal(w, m, c), m.leaf()), head,
                        events::refusal_reason::renew_key_attestation_ak,
                        w.owner);
  }
}

TEST_CASE("renew: a gateway cannot use what it relays of an attestation") {
  renew_world w;
  const certification c;
  const auto m = node_with(w, {statement_of(c)}, w.time.now());
  const auto good = attested_renewal(w, m, c);
  const auto head = w.head();
  SECTION("it strips it") {
    auto r = good;
    r.attestation.reset();
    check_renew_refused(w, w.renew(r, m.leaf()), head,
                        events::refusal_reason::renew_key_attestation, w.owner);
  }
  SECTION("it brings one that it saw before") {
    const certification earlier;
    auto r = good;
    r.attestation = earlier.make();
    check_renew_refused(w, w.renew(r, m.leaf()), head,
                        events::refusal_reason::renew_node_key_binding,
                        w.owner);
  }
  SECTION("it brings a key of its own") {
    // Without the current key it gets no further than the proof.
    auto r = good;
    r.csr = pki::build_csr(pki::private_key::generate());
    check_renew_refused(w, w.renew(r, m.leaf()), head,
                        events::refusal_reason::renew_proof, w.root);
  }
  // And the node is none the worse.
  CHECK(renewed(w.renew(good, m.leaf())));
}

}  // namespace
}  // namespace bc::test
