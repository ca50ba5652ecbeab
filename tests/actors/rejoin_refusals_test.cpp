#include "pki/certificate.hpp"
#include "tests/actors/attested_world.hpp"
#include "tests/actors/rejoin_world.hpp"

// spec: ATTESTATION section 3: each reason in its turn, to whom, with one
// answer, and nothing consumed.
namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

enum class to { root, owner };

struct row {
  refusal_reason reason;
  to whom;
};

// In the order of the checks: row n is the request that passes those before it.
const std::vector<row> rows = {
    {refusal_reason::join_csr, to::root},                   // 0 its form
    {refusal_reason::join_csr, to::root},                   // 1 self-signature
    {refusal_reason::x509pop_malformed, to::root},          // 2 no evidence
    {refusal_reason::x509pop_malformed, to::root},          // 3 no certificate
    {refusal_reason::x509pop_challenge_unknown, to::root},  // 4
    {refusal_reason::x509pop_challenge_expired, to::root},  // 5
    {refusal_reason::x509pop_unknown_certificate, to::root},  // 6 of no node
    {refusal_reason::x509pop_unknown_certificate, to::root},  // 7 another's id
    {refusal_reason::x509pop_unknown_certificate, to::root},  // 8 but a byte
    {refusal_reason::x509pop_pop, to::root},                  // 9 another key
    {refusal_reason::x509pop_pop, to::root},          // 10 for another CSR
    {refusal_reason::x509pop_pop, to::root},          // 11 for other claims
    {refusal_reason::x509pop_pop, to::root},          // 12 another's challenge
    {refusal_reason::x509pop_revoked, to::owner},     // 13
    {refusal_reason::x509pop_generation, to::owner},  // 14
    {refusal_reason::x509pop_expired, to::owner},     // 15
    {refusal_reason::x509pop_role, to::owner},        // 16 another asked for
    {refusal_reason::x509pop_role, to::owner},        // 17 a ramdisk's
    {refusal_reason::x509pop_node, to::owner},        // 18 retired
    {refusal_reason::x509pop_node, to::owner},        // 19 another site
    {refusal_reason::join_pool, to::owner},           // 20 archived
    {refusal_reason::join_pool_attestor, to::owner},  // 21
    {refusal_reason::x509pop_hardware, to::owner},    // 22
    {refusal_reason::x509pop_key_attestation, to::owner},     // 23
    {refusal_reason::join_csr, to::owner},                    // 24 the CA's key
    {refusal_reason::x509pop_challenge_replayed, to::owner},  // 25
    {refusal_reason::join_csr, to::owner},  // 26 the current key
};

constexpr int its_number = 7;

/// A node such as row `passed` finds it, written as it stands in a journal: no
/// command leaves all of these faults at once.
member node_for(rejoin_world& w, std::size_t passed) {
  auto key = pki::private_key::generate();
  const auto over_for = seconds{passed <= 15 ? 8 * 86'400 : 86'400};
  const auto born = w.time.now() - over_for - seconds{86'400};
  node::joined j;
  j.id = pki::mint<node_id>(w.time.now());
  j.tenant = w.owner;
  j.site = w.site;
  j.pool = w.pool;
  if (passed <= 21)
    j.pool = w.new_pool(w.owner, w.site, events::pool::agent::bcd,
                        {{"join-token", "tpm"}, false, {}});
  if (passed <= 20)
    w.archive(*j.pool);
  j.attestor = "join-token";
  j.at = born;
  j.answer_subject = "jt_of-" + j.id.str();
  j.answer_signature = bytes(64);
  // Of nobody else, so that each row may have a node of its own.
  j.hardware_key = to_hex(pki::random_bytes(32));
  j.hardware_key_trusted = passed <= 22;
  std::vector<std::string> statements;
  if (passed <= 23)
    statements = {"urn:bc:tpm-ak:sha256:aa"};
  j.cert.role = passed <= 17 ? pki::certificate_role::ramdisk
                             : pki::certificate_role::node;
  const auto made =
      pki::issue_node_certificate(w.keys->node_ca, {key.pub(),
                                                    w.keys->trust_domain,
                                                    w.site.str(),
                                                    j.id.str(),
                                                    j.cert.role,
                                                    statements,
                                                    born,
                                                    seconds{86'400},
                                                    {}});
  j.cert.serial = to_hex(pki::random_bytes(16));
  j.cert.spki_sha256 = to_hex(key.pub().spki_sha256());
  j.cert.not_before = made.not_before;
  j.cert.not_after = made.not_after;
  j.cert.statements = statements;
  j.cert.der = made.der;
  j.cert.csr_sha256 = std::string(64, 'e');
  const auto stream = events::stream_of(j.id);
  if (passed == 6)
    return {j.id, std::move(key), {made.der, w.keys->node_ca.certificate}};
  w.append<node::event>(stream, j, w.owner);
  if (passed <= 14) {
    auto again = j;
    again.reclaim = true;
    again.cert.generation = 2;
    again.cert.serial = to_hex(pki::random_bytes(16));
    again.cert.spki_sha256 = to_hex(pki::random_bytes(32));
    again.cert.csr_sha256 = to_hex(pki::random_bytes(32));
    again.cert.der = pki::random_bytes(64);
    // Before the other one was over, or it would be forgotten.
    again.at = made.not_after - seconds{1};
    w.append<node::event>(stream, again, w.owner);
  }
  if (passed <= 13)
    w.append<node::event>(stream,
                          node::certificate_revoked{
                              j.id, w.owner, j.cert.serial, 1,
                              node::revocation::revoked, "", w.time.now(), ""},
                          w.owner);
  if (passed <= 18)
    w.append<node::event>(stream, node::retired{j.id, "", w.time.now(), ""},
                          w.owner);
  return {j.id, std::move(key), {made.der, w.keys->node_ca.certificate}};
}

/// Takes the claim that this challenge is used once by, as a join by it would.
void use_up(rejoin_world& w, const wire::x509pop_evidence& evidence) {
  pki::field_hash used;
  used.add("bc-challenge-v1").add("x509pop").add(evidence.nonce);
  node::renewed r;
  r.id = pki::mint<node_id>(w.time.now());
  r.tenant = w.owner;
  r.at = w.time.now();
  r.cert.serial = to_hex(pki::random_bytes(16));
  r.cert.spki_sha256 = to_hex(pki::random_bytes(32));
  r.cert.csr_sha256 = to_hex(pki::random_bytes(32));
  r.cert.not_before = r.cert.not_after = w.time.now();
  r.previous_serial = r.cert.serial;
  r.answer_signature = bytes(64);
  r.proof_sha256 = to_hex(std::move(used).finish());
  w.append<node::event>(events::stream_of(r.id), r, w.owner);
}

struct attempt {
  wire::join_request request;
  std::optional<member> of;
};

attempt make_attempt(rejoin_world& w, std::size_t passed, const member& other) {
  auto m = node_for(w, passed);
  auto next = pki::private_key::generate();
  if (passed <= 24)
    next = w.keys->node_ca.key.clone();
  else if (passed == 26)
    next = m.key.clone();
  if (passed <= 8)
    m.chain.front().back() ^= 1;
  auto r = answer_to({}, m, its_number, next, w.site);
  if (passed <= 15 || passed == 17)
    r.role = "ramdisk";
  if (passed <= 19)
    r.site_id = pki::mint<site_id>(w.time.now()).str();
  if (passed <= 7)
    r.node_id = other.id.str();
  const auto given = passed == 12 ? w.challenge(r.csr, other.leaf())
                                  : w.challenge(r.csr, m.leaf());
  r.x509pop->kid = given.kid;
  r.x509pop->nonce = given.nonce;
  r.x509pop->expires_ms = given.expires_ms;
  sign(r, passed <= 9 ? other.key : m.key, given.payload);
  if (passed == 25)
    use_up(w, *r.x509pop);
  if (passed <= 11)
    r.hardware.hostname = "another";
  if (passed <= 10)
    r.csr = pki::build_csr(next);
  if (passed == 6) {
    r.node_id.clear();
    r.x509pop->chain = m.chain;
  }
  if (passed <= 5)
    r.x509pop->expires_ms = to_millis(w.time.now()) - 1;
  if (passed <= 4)
    r.x509pop->kid = "sha256/of-nobody";
  if (passed <= 3)
    r.x509pop->chain.front().pop_back();
  if (passed <= 2)
    r.x509pop.reset();
  if (passed == 1)
    r.csr.back() ^= 1;
  if (passed == 0)
    r.csr.pop_back();
  return {std::move(r), std::move(m)};
}

TEST_CASE("rejoin: each refusal in its order, to its tenant, with one answer") {
  rejoin_world w;
  const auto other = w.admit(1);
  std::optional<std::string> bytes_of_all;
  std::optional<std::size_t> length;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    CAPTURE(n);
    auto a = make_attempt(w, n, other);
    w.time.advance(seconds{1});
    const auto head = w.head();
    const auto before = w.node(a.of->id).version;
    auto got = w.join(a.request);
    check_rejoin_refused(w, got, head, rows[n].reason,
                         rows[n].whom == to::root ? w.root : w.owner);
    CHECK(w.node(a.of->id).version == before);
    CHECK(got.reports.front().csr_sha256 == to_hex(pki::sha256(a.request.csr)));

    auto text = without_time(got.answer);
    CHECK(bytes_of_all.value_or(text) == text);
    bytes_of_all = text;
    auto size = wire::encode(got.answer).size();
    CHECK(length.value_or(size) == size);
    length = size;
  }

  SECTION("the row after the last is joined") {
    auto a = make_attempt(w, rows.size(), other);
    auto got = w.join(a.request);
    CHECK(joined(got));
    CHECK(got.reports.empty());
  }
}

// What an attestation that is there fails by stands in
// key_attestation_test.cpp.
TEST_CASE("rejoin: every reason of its own stands in a table") {
#define BC_X(name, attestor, text)                                \
  CHECK((is_of_an_attestation(text) ||                            \
         std::any_of(rows.begin(), rows.end(), [](const row& r) { \
           return r.reason == refusal_reason::name;               \
         })));
  BC_X509POP_REFUSAL_REASONS(BC_X)
#undef BC_X
}

TEST_CASE("rejoin: where it is not configured, both legs are of no attestor") {
  rejoin_world w;
  const auto m = w.admit(1);
  w.be_over_for(seconds{1});
  const auto r = w.rejoining(m, 1, pki::private_key::generate());
  w.x509pop = false;
  const auto head = w.head();
  auto got = w.join(r);
  check_refused(w, got, head, refusal_reason::join_attestor, w.root);
  CHECK(got.reports.front().attestor == "unknown");

  auto asked = w.ask(challenge_for(r.csr, m.leaf()));
  CHECK(without_time(asked) == without_time(got.answer));
  REQUIRE(w.reports.size() == 1);
  CHECK(w.reports.front().reason == refusal_reason::join_attestor);
  CHECK(w.reports.front().attestor == "unknown");
  CHECK(w.reports.front().owner == w.root);
}

TEST_CASE("challenge: what it is for, signed, and nothing of it is kept") {
  rejoin_world w;
  const auto m = w.admit(1);
  const auto csr = pki::build_csr(pki::private_key::generate());
  const auto asked = challenge_for(csr, m.leaf());
  const auto head = w.head();
  auto got = w.ask(asked);
  REQUIRE(got.what == wire::join_answer::kind::challenge);
  CHECK(pki::verify(w.keys->join_signing.key.pub(),
                    pki::purpose::join_challenge, {as_bytes(got.body)},
                    got.signature));
  auto body = wire::decode_challenge_body(got.body).value();
  CHECK(body.csr_sha256 == asked.csr_sha256);
  CHECK(body.expires_ms == to_millis(w.time.now()) + 120'000);
  CHECK(body.kid == w.keys->join_encryption.pub().pin());
  CHECK(body.payload.size() == 32);
  auto again = wire::decode_challenge_body(w.ask(asked).body).value();
  CHECK(again.nonce != body.nonce);
  CHECK(again.payload != body.payload);
  CHECK(w.head() == head);
  CHECK(w.reports.empty());

  SECTION("of nothing: INVALID_INPUT, unsigned") {
    auto none = asked;
    none.leaf.clear();
    got = w.ask(none);
    CHECK(got.code == errc::invalid_input);
    CHECK(got.path == "/evidence/x509pop");
    CHECK_FALSE(got.time);
  }
  SECTION("of an attestor that nobody has") {
    auto strange = asked;
    strange.attestor = "palm-reading";
    got = w.ask(strange);
    CHECK(got.code == errc::access_denied);
    REQUIRE(w.reports.size() == 1);
    CHECK(w.reports.front().attestor == "unknown");
  }
  SECTION("without keys") {
    w.keys = nullptr;
    CHECK(w.ask(asked).code == errc::invalid_config);
  }
}

TEST_CASE("challenge: over its rate it is RATE_LIMITED, and then goes on") {
  token_bucket one{10, 2};
  const auto start = token_bucket::steady::now();
  CHECK(one.take(start));
  CHECK(one.take(start));
  CHECK_FALSE(one.take(start));
  CHECK_FALSE(one.take(start + milliseconds{99}));
  CHECK(one.take(start + milliseconds{201}));
  // After a long pause it holds no more than its burst.
  CHECK(one.take(start + seconds{60}));
  CHECK(one.take(start + seconds{60}));
  CHECK_FALSE(one.take(start + seconds{60}));

  rejoin_world w;
  const auto m = w.admit(1);
  auto empty = std::make_shared<token_bucket>(0.0, 0.0);
  std::optional<wire::join_answer> got;
  actors::run_challenge(
      w.environment(), empty, w.ledger,
      call_of(challenge_for(pki::build_csr(pki::private_key::generate()),
                            m.leaf())),
      [&](wire::join_answer a) { got = std::move(a); });
  REQUIRE(got);
  CHECK(got->code == errc::rate_limited);
  CHECK(wire::http_status(*got) == 429);
}

}  // namespace
}  // namespace bc::test
