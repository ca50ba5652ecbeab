#include "pki/certificate.hpp"
#include "tests/actors/attested_world.hpp"
#include "tests/actors/renew_world.hpp"

#include <array>
#include <limits>

// spec: joining#renewal: each reason in its turn, to whom, with one answer.
namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

enum class to { root, owner };

struct row {
  refusal_reason reason;
  to whom;
};

// In the order of the checks: row n is the renewal that passes those before it.
const std::vector<row> rows = {
    {refusal_reason::renew_csr, to::root},           // 0 form of the CSR
    {refusal_reason::renew_csr, to::root},           // 1 its self-signature
    {refusal_reason::renew_certificate, to::root},   // 2 no node's id
    {refusal_reason::renew_certificate, to::root},   // 3 of no node
    {refusal_reason::renew_certificate, to::root},   // 4 another node's leaf
    {refusal_reason::renew_certificate, to::root},   // 5 but for one byte
    {refusal_reason::renew_proof, to::root},         // 6 by another key
    {refusal_reason::renew_proof, to::root},         // 7 for another CSR
    {refusal_reason::renew_identity, to::owner},     // 8 no certificate
    {refusal_reason::renew_identity, to::owner},     // 9 another node's
    {refusal_reason::renew_client_time, to::owner},  // 10
    {refusal_reason::renew_revoked, to::owner},      // 11
    {refusal_reason::renew_expired, to::owner},      // 12
    {refusal_reason::renew_generation, to::owner},   // 13
    {refusal_reason::renew_retired, to::owner},      // 14
    {refusal_reason::renew_key_attestation, to::owner},  // 15
    {refusal_reason::renew_csr, to::owner},              // 16 the CA's own key
    {refusal_reason::renew_replayed, to::owner},         // 17
    {refusal_reason::renew_csr, to::owner},              // 18 the current key
    {refusal_reason::renew_csr, to::owner},  // 19 another node's key
};

/// A node such as row `passed` finds it, written as it stands in a journal: no
/// command leaves all of these faults at once.
member node_for(renew_world& w, std::size_t passed) {
  auto key = pki::private_key::generate();
  node::joined j;
  j.id = pki::mint<node_id>(w.time.now());
  j.tenant = w.owner;
  j.site = w.site;
  j.pool = w.pool;
  j.attestor = "join-token";
  j.at = w.time.now();
  j.answer_subject = "jt_of-" + j.id.str();
  j.answer_signature = bytes(64);
  std::vector<std::string> statements;
  if (passed <= 15)
    statements = {"urn:bc:tpm-ak:sha256:aa"};
  const auto made = pki::issue_node_certificate(
      w.keys->node_ca, {key.pub(),
                        w.keys->trust_domain,
                        w.site.str(),
                        j.id.str(),
                        pki::certificate_role::node,
                        statements,
                        w.time.now(),
                        seconds{passed <= 12 ? 300 : 86'400},
                        {}});
  j.cert.serial = to_hex(pki::random_bytes(16));
  j.cert.spki_sha256 = to_hex(key.pub().spki_sha256());
  j.cert.not_before = made.not_before;
  j.cert.not_after = made.not_after;
  j.cert.statements = statements;
  j.cert.der = made.der;
  j.cert.csr_sha256 = std::string(64, 'e');
  const auto stream = events::stream_of(j.id);
  w.append<node::event>(stream, j, w.owner);
  if (passed <= 13) {
    auto again = j;
    again.reclaim = true;
    again.cert.generation = 2;
    again.cert.serial = to_hex(pki::random_bytes(16));
    again.cert.spki_sha256 = to_hex(pki::random_bytes(32));
    again.cert.csr_sha256 = to_hex(pki::random_bytes(32));
    again.cert.not_after = w.time.now() + seconds{86'000};
    again.cert.der = pki::random_bytes(64);
    // Before the one of row 12 was over, or it would be forgotten.
    again.at = made.not_after - seconds{1};
    w.append<node::event>(stream, again, w.owner);
  }
  if (passed <= 11)
    w.append<node::event>(stream,
                          node::certificate_revoked{
                              j.id, w.owner, j.cert.serial, 1,
                              node::revocation::revoked, "", w.time.now(), ""},
                          w.owner);
  if (passed <= 14)
    w.append<node::event>(stream, node::retired{j.id, "", w.time.now(), ""},
                          w.owner);
  return {j.id, std::move(key), {made.der, w.keys->node_ca.certificate}};
}

struct attempt {
  wire::renew_request request;
  bytes client;
  std::optional<member> of;
};

attempt make_attempt(renew_world& w, std::size_t passed, const member& other) {
  auto m = node_for(w, passed);
  attempt out;
  auto next = pki::private_key::generate();
  if (passed <= 16)
    next = w.keys->node_ca.key.clone();
  else if (passed == 18)
    next = m.key.clone();
  else if (passed == 19)
    next = other.key.clone();
  auto& r = out.request;
  r = w.renewal(m, next, passed <= 10 ? milliseconds{70'000} : milliseconds{0});
  out.client = m.leaf();
  if (passed == 17) {
    // Used once, and its answer is void by now.
    REQUIRE(renewed(w.renew(r, out.client)));
    w.renew_well(m);
  }
  if (passed <= 9)
    out.client = passed <= 8 ? bytes{} : other.leaf();
  if (passed <= 7)
    r.csr = pki::build_csr(pki::private_key::generate());
  if (passed <= 6)
    sign(r, other.key);
  if (passed <= 5)
    r.certificate_chain.front().back() ^= 1;
  if (passed <= 4)
    r.certificate_chain = other.chain;
  if (passed <= 3)
    r.node_id = pki::mint<node_id>(w.time.now()).str();
  if (passed <= 2)
    r.node_id = "node_of-mine";
  if (passed == 1)
    r.csr.back() ^= 1;
  if (passed == 0)
    r.csr.pop_back();
  out.of = std::move(m);
  return out;
}

TEST_CASE("renew: each refusal in its order, to its tenant, with one answer") {
  renew_world w;
  const auto other = w.admit(1);
  std::optional<std::string> bytes_of_all;
  std::optional<std::size_t> length;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    CAPTURE(n);
    auto a = make_attempt(w, n, other);
    w.time.advance(seconds{1});
    const auto head = w.head();
    auto got = w.renew(a.request, a.client);
    check_renew_refused(w, got, head, rows[n].reason,
                        rows[n].whom == to::root ? w.root : w.owner);
    const auto& report = got.reports.front();
    CHECK(report.csr_sha256 == to_hex(pki::sha256(a.request.csr)));
    if (rows[n].whom == to::owner)
      CHECK(report.node == a.of->id.str());

    auto text = without_time(got.answer);
    CHECK(bytes_of_all.value_or(text) == text);
    bytes_of_all = text;
    auto size = wire::encode(got.answer).size();
    CHECK(length.value_or(size) == size);
    length = size;
  }

  SECTION("the row after the last is renewed") {
    auto a = make_attempt(w, rows.size(), other);
    auto got = w.renew(a.request, a.client);
    CHECK(renewed(got));
    CHECK(got.reports.empty());
  }
}

// What an attestation that is there fails by stands in
// key_attestation_test.cpp.
TEST_CASE("renew: every reason the service can give stands in a table") {
#define BC_X(name, attestor, text)                                \
  CHECK((is_of_an_attestation(text) ||                            \
         std::any_of(rows.begin(), rows.end(), [](const row& r) { \
           return r.reason == refusal_reason::name;               \
         })));
  BC_RENEW_REFUSAL_REASONS(BC_X)
#undef BC_X
}

TEST_CASE("renew: a body that is not well formed is told so, unsigned") {
  renew_world w;
  const auto m = w.admit(1);
  const auto head = w.head();
  auto r = w.renewal(m, pki::private_key::generate());
  r.certificate_chain.clear();
  auto got = w.renew(r, m.leaf());
  CHECK(got.answer.code == errc::invalid_input);
  CHECK(got.answer.path == "/certificateChain");
  CHECK_FALSE(got.answer.time);
  CHECK(got.reports.empty());
  CHECK(w.head() == head);
}

TEST_CASE("renew: without keys every renewal is INVALID_CONFIG") {
  renew_world w;
  const auto m = w.admit(1);
  const auto r = w.renewal(m, pki::private_key::generate());
  w.keys = nullptr;
  auto got = w.renew(r, m.leaf());
  CHECK(got.answer.code == errc::invalid_config);
  CHECK(got.reports.empty());
}

TEST_CASE("renew: the client's time at its limits (case 104)") {
  renew_world w;
  auto m = w.admit(1);
  struct at_limit {
    seconds off;
    bool good;
  };
  for (auto [off, good] :
       {at_limit{seconds{-61}, false}, at_limit{seconds{-60}, true},
        at_limit{seconds{0}, true}, at_limit{seconds{60}, true},
        at_limit{seconds{61}, false}}) {
    CAPTURE(off.count());
    auto next = pki::private_key::generate();
    const auto head = w.head();
    auto got = w.renew(w.renewal(m, next, off), m.leaf());
    CHECK(renewed(got) == good);
    if (!good)
      check_renew_refused(w, got, head, refusal_reason::renew_client_time,
                          w.owner);
    // By which a machine whose clock is off finds out, and is let in.
    REQUIRE(got.answer.time);
    CHECK(got.answer.time->time_ms == to_millis(w.time.now()));
  }
  for (std::int64_t time : {to_millis(w.time.now()) / 1000, std::int64_t{-5},
                            std::numeric_limits<std::int64_t>::min(),
                            std::numeric_limits<std::int64_t>::max()}) {
    auto r = w.renewal(m, pki::private_key::generate());
    r.client_time_ms = time;
    sign(r, m.key);
    const auto head = w.head();
    check_renew_refused(w, w.renew(r, m.leaf()), head,
                        refusal_reason::renew_client_time, w.owner);
  }
}

TEST_CASE("renew: for another node, or by another's leaf (case 109)") {
  renew_world w;
  const auto a = w.admit(1), b = w.admit(2);
  const auto key = pki::private_key::generate();
  const auto head = w.head();
  SECTION("B's stolen key, on A's connection: B's owner is told") {
    auto got = w.renew(w.renewal(b, key), a.leaf());
    check_renew_refused(w, got, head, refusal_reason::renew_identity, w.owner);
    CHECK(got.reports.front().node == b.id.str());
  }
  SECTION("A's chain with B's id") {
    auto r = w.renewal(a, key);
    r.node_id = b.id.str();
    sign(r, a.key);
    check_renew_refused(w, w.renew(r, a.leaf()), head,
                        refusal_reason::renew_certificate, w.root);
  }
  SECTION("B's chain, proved by A's key") {
    auto r = w.renewal(b, key);
    sign(r, a.key);
    check_renew_refused(w, w.renew(r, a.leaf()), head,
                        refusal_reason::renew_proof, w.root);
  }
  SECTION("a gateway that drops the peer's certificate") {
    check_renew_refused(w, w.renew(w.renewal(a, key), {}), head,
                        refusal_reason::renew_identity, w.owner);
  }
  SECTION("or adds one that it made up") {
    auto ca = pki::make_ca("mallory", w.time.now()).value();
    auto forged = pki::issue_node_certificate(ca, {key.pub(),
                                                   w.keys->trust_domain,
                                                   w.site.str(),
                                                   a.id.str(),
                                                   pki::certificate_role::node,
                                                   {},
                                                   w.time.now(),
                                                   seconds{600},
                                                   {}});
    check_renew_refused(w, w.renew(w.renewal(a, key), forged.der), head,
                        refusal_reason::renew_identity, w.owner);
  }
}

TEST_CASE("renew: a hostile gateway gets no certificate of its own") {
  renew_world w;
  const auto m = w.admit(1), other = w.admit(2);
  const auto mallory = pki::private_key::generate();
  const auto good = w.renewal(m, pki::private_key::generate());
  const auto head = w.head();
  SECTION("it swaps the CSR") {
    auto r = good;
    r.csr = pki::build_csr(mallory);
    check_renew_refused(w, w.renew(r, m.leaf()), head,
                        refusal_reason::renew_proof, w.root);
  }
  SECTION("it swaps the leaf for another node's") {
    auto r = good;
    r.certificate_chain = other.chain;
    check_renew_refused(w, w.renew(r, m.leaf()), head,
                        refusal_reason::renew_certificate, w.root);
  }
  SECTION("it swaps node and leaf") {
    auto r = good;
    r.node_id = other.id.str();
    r.certificate_chain = other.chain;
    check_renew_refused(w, w.renew(r, other.leaf()), head,
                        refusal_reason::renew_proof, w.root);
  }
  SECTION("it moves the client's time") {
    auto r = good;
    r.client_time_ms += 1;
    check_renew_refused(w, w.renew(r, m.leaf()), head,
                        refusal_reason::renew_proof, w.root);
  }
  CHECK(renewed(w.renew(good, m.leaf())));
}

TEST_CASE("renew: the leaf but for a byte, or signed anew (case 110)") {
  renew_world w;
  const auto m = w.admit(1);
  const auto cert = w.node(m.id).certificates.front().cert;
  const auto head = w.head();
  auto with_leaf = [&](bytes leaf) {
    auto r = w.renewal(m, pki::private_key::generate());
    r.certificate_chain.front() = std::move(leaf);
    return w.renew(r, m.leaf());
  };
  SECTION("its signature or its unused bits changed") {
    for (std::size_t back : {1U, 10U, 70U}) {
      auto leaf = m.leaf();
      leaf[leaf.size() - back] ^= 1;
      check_renew_refused(w, with_leaf(std::move(leaf)), head,
                          refusal_reason::renew_certificate, w.root);
    }
  }
  SECTION("another signature of the same CA over the same content") {
    std::array<std::uint8_t, 16> serial{};
    const auto raw = from_hex(cert.serial).value();
    std::copy(raw.begin(), raw.end(), serial.begin());
    auto again =
        pki::issue_node_certificate(w.keys->node_ca, {m.key.pub(),
                                                      w.keys->trust_domain,
                                                      w.site.str(),
                                                      m.id.str(),
                                                      cert.role,
                                                      {},
                                                      w.time.now(),
                                                      w.lifetime,
                                                      serial});
    CHECK(again.serial == cert.serial);
    REQUIRE(again.der != m.leaf());
    check_renew_refused(w, with_leaf(again.der), head,
                        refusal_reason::renew_certificate, w.root);
  }
}

TEST_CASE("renew: a key that is in use is not certified (case 90)") {
  renew_world w;
  const auto m = w.admit(1), other = w.admit(2);
  const auto head = w.head();
  for (const auto* key : {&m.key, &other.key, &w.keys->node_ca.key,
                          &w.keys->serving_ca.key, &w.keys->join_signing.key})
    check_renew_refused(w, w.renew(w.renewal(m, *key), m.leaf()), head,
                        refusal_reason::renew_csr, w.owner);
}

}  // namespace
}  // namespace bc::test
