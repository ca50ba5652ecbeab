// spec: ATTESTATION section 2.4 (the rows in order, the first failure wins)
// and section 8.6 (the relay adversary)
#include "base/encoding.hpp"
#include "pki/digest.hpp"
#include "pki/rotation.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/judge.hpp"
#include "tests/pki/support.hpp"
#include "tests/support/ek_certificates.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::tpm;
using namespace bc::testing;
using bc::pki::test::noon;

namespace {

const std::vector<challenge_key>& keys() {
  static const auto all =
      challenge_keys(std::move(make_bundle("example.test", noon)).value());
  return all;
}

const ek_issuer& root() {
  static const auto one = make_ek_ca("Vendor root", 1);
  return one;
}

// A machine and what it sends; each part may be changed before the next.
struct machine {
  soft_key ek = make_ek(key_kind::rsa_2048);
  certification node;
  bytes certificate = make_ek_certificate(ek, root());
  judge_config config;
  certificate_role role = certificate_role::node;
  sha256_digest claims = sha256(as_bytes("what it claims"));
  time_point now = noon;

  machine() { config.ek_roots = {root().certificate}; }

  // Leg 1 and the machine's part of leg 2.
  evidence prove() const {
    evidence out;
    out.ek_public = ek.encoded();
    out.ak_public = node.ak.encoded();
    auto answered = answer_challenge(
        {out.ek_public, out.ak_public, sha256(node.csr), claims}, keys()[0],
        {1, 2, 3}, noon);
    if (const auto* given = std::get_if<challenge_answer>(&answered)) {
      out.repeated = given->given;
      out.activation = activate(ek, node.ak.name(), given->credential_blob,
                                given->encrypted_secret)
                           .value_or(bytes{});
    } else {
      out.repeated = make_challenge(keys()[0], {}, noon);
    }
    auto attested = node.make();
    out.ek_certificate = certificate;
    out.node_key_public = attested.node_key_public;
    out.certify_info = attested.certify_info;
    out.certify_signature = attested.signature;
    return out;
  }

  std::variant<admitted, code> judged(const evidence& e) const {
    return judge(e, config, {role, node.csr, claims, keys(), now});
  }
  std::variant<admitted, code> judged() const { return judged(prove()); }
};

std::optional<code> code_of(const std::variant<admitted, code>& v) {
  const auto* fault = std::get_if<code>(&v);
  return fault == nullptr ? std::nullopt : std::optional{*fault};
}

}  // namespace

TEST_CASE("tpm judge: each kind of EK with each kind of AK is admitted") {
  for (auto kind :
       {key_kind::rsa_2048, key_kind::rsa_3072, key_kind::p256, key_kind::p384})
    for (auto ak : {key_kind::p256, key_kind::p384, key_kind::rsa_2048}) {
      machine m;
      m.ek = make_ek(kind);
      m.node.ak = make_ak(ak);
      m.certificate = make_ek_certificate(m.ek, root());
      m.config.require_ek_certificate = true;
      auto verdict = m.judged();
      REQUIRE(std::holds_alternative<admitted>(verdict));
      const auto& a = std::get<admitted>(verdict);
      CHECK(a.ek_hash == to_hex(ek_hash(m.ek.area)));
      CHECK(a.ek_certificate == ek_certificate_state::verified);
      CHECK_FALSE(a.ek_certificate_fault);
      CHECK(a.identity.model == "SLB9670");
      CHECK(a.statement == ak_statement(m.node.ak.name()));
      CHECK(a.node_key_attested());
    }
}

TEST_CASE("tpm judge: no EK certificate (case 117)") {
  machine m;
  m.certificate.clear();
  auto verdict = m.judged();
  REQUIRE(std::holds_alternative<admitted>(verdict));
  const auto& a = std::get<admitted>(verdict);
  CHECK(a.ek_certificate == ek_certificate_state::absent);
  CHECK(a.ek_certificate_fault == code::ek_cert_required);
  CHECK(a.ek_hash == to_hex(ek_hash(m.ek.area)));
  CHECK(a.identity == tpm_identity{});
  m.config.require_ek_certificate = true;
  CHECK(code_of(m.judged()) == code::ek_cert_required);
}

TEST_CASE("tpm judge: a certificate that does not hold is unverified") {
  struct row {
    std::function<void(machine&)> change;
    code fault;
  };
  const row rows[] = {
      {[](auto& m) { m.certificate.push_back(0); }, code::ek_cert_malformed},
      {[](auto& m) {
         m.certificate = {1, 2, 3};
       },
       code::ek_cert_malformed},
      {[](auto& m) {
         ek_options o;
         o.extended_key_usage = "serverAuth";
         m.certificate = make_ek_certificate(m.ek, root(), o);
       },
       code::ek_cert_profile},
      {[](auto& m) { m.config.ek_roots.clear(); }, code::ek_cert_chain},
      {[](auto& m) {
         ek_options o;
         o.not_after = "20250101000000Z";
         m.certificate = make_ek_certificate(m.ek, root(), o);
       },
       code::ek_cert_expired},
  };
  for (const auto& r : rows) {
    machine m;
    r.change(m);
    auto verdict = m.judged();
    REQUIRE(std::holds_alternative<admitted>(verdict));
    CHECK(std::get<admitted>(verdict).ek_certificate ==
          ek_certificate_state::unverified);
    CHECK(std::get<admitted>(verdict).ek_certificate_fault == r.fault);
    m.config.require_ek_certificate = true;
    CHECK(code_of(m.judged()) == r.fault);
  }
}

TEST_CASE("tpm judge: the machine's own intermediates count") {
  machine m;
  auto issuing = make_ek_ca("Issuing", 2, &root());
  m.certificate = make_ek_certificate(m.ek, issuing);
  m.config.require_ek_certificate = true;
  auto e = m.prove();
  CHECK(code_of(m.judged(e)) == code::ek_cert_chain);
  e.ek_chain = {issuing.certificate};
  CHECK_FALSE(code_of(m.judged(e)));
}

TEST_CASE("tpm judge: a key that is not certified, where that is allowed") {
  machine m;
  auto e = m.prove();
  e.node_key_public.clear();
  e.certify_info.clear();
  e.certify_signature.clear();
  CHECK(code_of(m.judged(e)) == code::node_key_missing);
  m.config.require_certified_key = false;
  auto verdict = m.judged(e);
  REQUIRE(std::holds_alternative<admitted>(verdict));
  CHECK_FALSE(std::get<admitted>(verdict).node_key_attested());
  // Present but failing refuses all the same.
  auto partial = m.prove();
  partial.certify_info.clear();
  CHECK(code_of(m.judged(partial)) == code::node_key_missing);
  auto wrong = m.prove();
  wrong.certify_info.back() ^= 1;
  CHECK(code_of(m.judged(wrong)));
  // And what is good is written down.
  CHECK(std::get<admitted>(m.judged()).node_key_attested());
}

namespace {

struct fault {
  code expected;
  std::function<void(machine&)> before = [](auto&) {};
  std::function<void(evidence&)> after = [](auto&) {};
};

// One for each code, in the order of the rows.
const fault faults[] = {
    {code::malformed, {}, [](evidence& e) { e.ek_public.push_back(0); }},
    {code::role, [](machine& m) { m.role = certificate_role::ramdisk; }, {}},
    {code::challenge_unknown, {}, [](evidence& e) { e.repeated.kid = "x"; }},
    {code::challenge_expired, [](machine& m) { m.now += seconds{120}; }, {}},
    {code::ek_template,
     [](machine& m) { m.ek.area.attributes |= attribute::sign; },
     {}},
    {code::ek_cert_key,
     [](machine& m) {
       m.certificate =
           make_ek_certificate(make_ek(key_kind::rsa_2048, 1), root());
     },
     {}},
    {code::ek_denied,
     [](machine& m) { m.config.denied = {to_hex(ek_hash(m.ek.area))}; },
     {}},
    {code::ek_cert_chain,
     [](machine& m) {
       m.config.require_ek_certificate = true;
       m.config.ek_roots.clear();
     },
     {}},
    {code::ak_algorithm,
     [](machine& m) { m.node.ak.area.name_alg = alg::sha1; },
     {}},
    {code::ak_attributes,
     [](machine& m) { m.node.ak.area.attributes &= ~attribute::restricted; },
     {}},
    {code::activation, {}, [](evidence& e) { e.activation = bytes(32, 1); }},
    {code::node_key_magic,
     [](machine& m) { m.node.change_attest = [](attest& a) { a.magic = 0; }; },
     {}},
};

void apply(const fault& f, machine& m) {
  if (f.before)
    f.before(m);
}
void apply(const fault& f, evidence& e) {
  if (f.after)
    f.after(e);
}

}  // namespace

TEST_CASE("tpm judge: each row alone has its code (case 123)") {
  for (const auto& f : faults) {
    machine m;
    apply(f, m);
    auto e = m.prove();
    apply(f, e);
    INFO(text_of(f.expected));
    CHECK(code_of(m.judged(e)) == f.expected);
  }
}

TEST_CASE("tpm judge: of two failures the first row's wins") {
  for (const auto& first : faults)
    for (const auto& second : faults) {
      if (&first >= &second)
        continue;
      machine m;
      apply(second, m);
      apply(first, m);
      auto e = m.prove();
      apply(second, e);
      apply(first, e);
      INFO(text_of(first.expected) << " and " << text_of(second.expected));
      // A foreign certificate's issuer is not asked when the key is denied.
      CHECK(code_of(m.judged(e)) == first.expected);
    }
}

TEST_CASE("tpm judge: denied by the EK's hash or its certificate's issuer") {
  machine m;
  m.config.denied = {"CN=Vendor root"};
  CHECK(code_of(m.judged()) == code::ek_denied);
  m.certificate.clear();
  CHECK_FALSE(code_of(m.judged()));
  m.config.denied = {std::string(64, '0'), "CN=Vendor"};
  m.certificate = make_ek_certificate(m.ek, root());
  CHECK_FALSE(code_of(m.judged()));
}

TEST_CASE("tpm judge: caps, each at its border") {
  machine m;
  auto e = m.prove();
  auto small = make_ek_ca("C", 3).certificate;
  e.ek_chain.assign(max_intermediates, small);
  CHECK_FALSE(code_of(m.judged(e)));
  e.ek_chain.push_back(small);
  CHECK(code_of(m.judged(e)) == code::malformed);
  e.ek_chain = {bytes(max_certificate_size)};
  CHECK_FALSE(code_of(m.judged(e)));
  e.ek_chain = {bytes(max_certificate_size + 1)};
  CHECK(code_of(m.judged(e)) == code::malformed);
  e = m.prove();
  e.ek_certificate.resize(max_certificate_size);
  CHECK_FALSE(code_of(m.judged(e)));
  e.ek_certificate.push_back(0);
  CHECK(code_of(m.judged(e)) == code::malformed);
  e = m.prove();
  e.activation.resize(max_evidence_size);
  CHECK(code_of(m.judged(e)) == code::malformed);
  for (auto field : {&evidence::node_key_public, &evidence::certify_info,
                     &evidence::certify_signature, &evidence::ak_public,
                     &evidence::ek_public}) {
    e = m.prove();
    (e.*field).resize(1025);
    CHECK(code_of(m.judged(e)) == code::malformed);
  }
  CHECK(code_of(m.judged(evidence{})) == code::malformed);
}

TEST_CASE(
    "tpm judge: a certificate proves nothing without its key (case 122)") {
  // The allowed machine's certificate and EK, another TPM behind them: the
  // credential is not opened.
  machine allowed, thief;
  thief.ek = make_ek(key_kind::rsa_2048, 1);
  auto e = thief.prove();
  e.ek_public = allowed.ek.encoded();
  e.ek_certificate = allowed.certificate;
  e.activation = bytes(32);
  CHECK(code_of(thief.judged(e)) == code::activation);
  // Its own EK under the allowed certificate.
  auto own = thief.prove();
  own.ek_certificate = allowed.certificate;
  CHECK(code_of(thief.judged(own)) == code::ek_cert_key);
}

TEST_CASE("tpm relay: what a gateway can swap, it cannot use") {
  machine m;
  auto honest = m.prove();
  REQUIRE_FALSE(code_of(m.judged(honest)));

  SECTION("its own CSR in leg 4") {
    machine thief;
    CHECK(code_of(thief.judged(honest)) == code::activation);
  }
  SECTION("its own CSR in leg 1, the machine's EK and AK") {
    // The machine refuses such an answer; suppose it did not.
    auto e = honest;
    auto csr = build_csr(private_key::generate());
    auto given = std::get<challenge_answer>(
        answer_challenge({e.ek_public, e.ak_public, sha256(csr), m.claims},
                         keys()[0], {}, noon));
    e.repeated = given.given;
    e.activation = *activate(m.ek, m.node.ak.name(), given.credential_blob,
                             given.encrypted_secret);
    CHECK(code_of(judge(e, m.config,
                        {certificate_role::node, csr, m.claims, keys(),
                         noon})) == code::node_key_binding);
    // Without the certification nothing is left to attest.
    e.node_key_public.clear();
    e.certify_info.clear();
    e.certify_signature.clear();
    CHECK(code_of(judge(e, m.config,
                        {certificate_role::node, csr, m.claims, keys(),
                         noon})) == code::node_key_missing);
  }
  SECTION("other claims in leg 4") {
    m.claims = sha256(as_bytes("another serial"));
    CHECK(code_of(m.judged(honest)) == code::activation);
  }
  SECTION("other claims in leg 1") {
    // As with a CSR: the machine refuses such an answer.
    auto e = honest;
    auto given = std::get<challenge_answer>(answer_challenge(
        {e.ek_public, e.ak_public, sha256(m.node.csr), sha256({})}, keys()[0],
        {}, noon));
    e.repeated = given.given;
    e.activation = *activate(m.ek, m.node.ak.name(), given.credential_blob,
                             given.encrypted_secret);
    CHECK(code_of(m.judged(e)) == code::activation);
  }
  SECTION("another machine's EK") {
    auto e = honest;
    e.ek_public = make_ek(key_kind::rsa_2048, 1).encoded();
    e.ek_certificate.clear();
    CHECK(code_of(m.judged(e)) == code::activation);
  }
  SECTION("another AK, which was not challenged") {
    auto e = honest;
    e.ak_public = make_ak(key_kind::p256, 1).encoded();
    CHECK(code_of(m.judged(e)) == code::activation);
  }
  SECTION("the same EK written otherwise") {
    auto e = honest;
    auto other = m.ek.area;
    std::get<rsa_parameters>(other.parameters).exponent = 65537;
    e.ek_public = encode(other);
    CHECK(code_of(m.judged(e)) == code::activation);
  }
  SECTION("a later end") {
    auto e = honest;
    e.repeated.expires_at += milliseconds{1};
    m.now += milliseconds{1};
    CHECK(code_of(m.judged(e)) == code::activation);
  }
  SECTION("an earlier challenge's secret: a replayed credential") {
    auto e = honest;
    e.repeated.nonce[0] ^= 1;
    CHECK(code_of(m.judged(e)) == code::activation);
  }
  SECTION("one leg of each of two machines") {
    machine second;
    second.ek = make_ek(key_kind::p256);
    second.node.ak = make_ak(key_kind::p256, 1);
    second.certificate.clear();
    auto other = second.prove();
    auto e = honest;
    e.repeated = other.repeated;
    e.activation = other.activation;
    CHECK(code_of(m.judged(e)) == code::activation);
    e = honest;
    e.node_key_public = other.node_key_public;
    e.certify_info = other.certify_info;
    e.certify_signature = other.certify_signature;
    CHECK(code_of(m.judged(e)) == code::node_key_signer);
  }
  SECTION("too late") {
    m.now += seconds{120};
    CHECK(code_of(m.judged(honest)) == code::challenge_expired);
  }
}

TEST_CASE("tpm judge: answered by one process, judged by another") {
  auto bundle = std::move(make_bundle("example.test", noon)).value();
  auto there = challenge_keys(bundle);
  machine m;
  auto e = m.prove();
  CHECK(code_of(judge(e, m.config,
                      {certificate_role::node, m.node.csr, m.claims, there,
                       noon})) == code::challenge_unknown);
  auto given = std::get<challenge_answer>(
      answer_challenge({e.ek_public, e.ak_public, sha256(m.node.csr), m.claims},
                       challenge_keys(bundle)[0], {}, noon));
  e.repeated = given.given;
  e.activation = *activate(m.ek, m.node.ak.name(), given.credential_blob,
                           given.encrypted_secret);
  CHECK_FALSE(code_of(
      judge(e, m.config,
            {certificate_role::node, m.node.csr, m.claims, there, noon})));
}

TEST_CASE("tpm challenge: only an EK that a credential can be made for") {
  auto ek = make_ek(key_kind::p256), ak = make_ak(key_kind::p256);
  auto asked = [](bytes ek_public, bytes ak_public) {
    auto out =
        answer_challenge({std::move(ek_public), std::move(ak_public), {}, {}},
                         keys()[0], {}, noon);
    const auto* fault = std::get_if<code>(&out);
    return fault == nullptr ? std::nullopt : std::optional{*fault};
  };
  CHECK_FALSE(asked(ek.encoded(), ak.encoded()));
  CHECK(asked(ak.encoded(), ak.encoded()) == code::ek_template);
  CHECK(asked({}, ak.encoded()) == code::malformed);
  CHECK(asked(ek.encoded(), {}) == code::malformed);
  ak.area.name_alg = alg::null;
  CHECK(asked(ek.encoded(), ak.encoded()) == code::malformed);
  // Nothing else of an AK is said so early.
  ak.area.name_alg = alg::sha256;
  ak.area.attributes = 0;
  CHECK_FALSE(asked(ek.encoded(), ak.encoded()));
}

// As the vendor padded it, as bcd cuts it, and not sent at all: the evidence is
// one machine's.
TEST_CASE(
    "tpm judge: an identity is of the key, not of the certificate "
    "(case 114)") {
  machine m;
  auto cut = m.prove();
  auto padded = cut, without = cut, other = cut;
  padded.ek_certificate.resize(1600, 0xff);
  without.ek_certificate.clear();
  ek_options again;
  again.common_name = "issued again";
  other.ek_certificate = make_ek_certificate(m.ek, root(), again);
  std::vector<std::string> hashes;
  std::vector<ek_certificate_state> states;
  for (const auto& e : {cut, padded, without, other}) {
    auto verdict = m.judged(e);
    REQUIRE(std::holds_alternative<admitted>(verdict));
    hashes.push_back(std::get<admitted>(verdict).ek_hash);
    states.push_back(std::get<admitted>(verdict).ek_certificate);
  }
  using enum ek_certificate_state;
  CHECK(states == std::vector{verified, unverified, absent, verified});
  CHECK(hashes == std::vector<std::string>(4, to_hex(ek_hash(m.ek.area))));
  // And another key is another machine.
  machine second;
  second.ek = make_ek(key_kind::rsa_2048, 1);
  second.certificate = make_ek_certificate(second.ek, root());
  CHECK(std::get<admitted>(second.judged()).ek_hash != hashes[0]);
}

// Two virtual machines with one TPM state prove the same EK and AK: here they
// are one machine, and the rows of its node must tell.
TEST_CASE("tpm judge: a cloned TPM is the same TPM") {
  machine original, clone;
  auto first = std::get<admitted>(original.judged());
  auto second = std::get<admitted>(clone.judged());
  CHECK(first.ek_hash == second.ek_hash);
  CHECK(first.statement == second.statement);
}

TEST_CASE("tpm codes: one text each") {
  std::vector<std::string_view> seen;
  for (auto c : every_code) {
    auto text = text_of(c);
    CHECK_FALSE(text.empty());
    CHECK(std::ranges::find(seen, text) == seen.end());
    seen.push_back(text);
  }
}
