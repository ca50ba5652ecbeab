// spec: ATTESTATION section 8.1 (vectors that server and daemon read, checked a
// second time by tests/golden/attest/tpm_vectors.py)
#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/tpm/credential.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/judge.hpp"
#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki::tpm;

namespace {

// What tests/tpm/swtpm_test.py --record wrote: the evidence of a TPM of
// software, with each kind of EK.
struct recorded {
  std::string name;
  evidence e;
  judge_config config;
  std::vector<challenge_key> keys;
  bytes csr;
  pki::sha256_digest claims{};
  time_point now;
  std::string ek_hash, ek_cert, model, statement;

  [[nodiscard]] std::variant<admitted, code> judged() const {
    return judge(e, config,
                 {pki::certificate_role::node, csr, claims, keys, now});
  }
};

bytes hex_in(const json::reader& in, std::string_view name) {
  return from_hex(in.text(name).value()).value();
}

std::vector<bytes> list_in(const json::reader& in, std::string_view name) {
  std::vector<bytes> out;
  auto texts = in.texts(name).value();
  for (const auto& text : texts)
    out.push_back(from_hex(text).value());
  return out;
}

recorded read_one(const json::value& v) {
  json::reader in{v};
  recorded out;
  out.name = in.text("name").value();
  auto kid = in.text("kid").value();
  out.e.repeated = {kid, {}, from_millis(in.integer("expiresAt").value())};
  auto nonce = hex_in(in, "nonce");
  std::copy(nonce.begin(), nonce.end(), out.e.repeated.nonce.begin());
  out.e.activation = hex_in(in, "activation");
  out.e.ek_public = hex_in(in, "ekPublic");
  out.e.ek_certificate = hex_in(in, "ekCertificate");
  out.e.ak_public = hex_in(in, "akPublic");
  out.e.node_key_public = hex_in(in, "nodeKeyPublic");
  out.e.certify_info = hex_in(in, "certifyInfo");
  out.e.certify_signature = hex_in(in, "signature");
  out.config.ek_roots = list_in(in, "ekRoots");
  out.config.ek_intermediates = list_in(in, "ekIntermediates");
  out.keys.push_back({kid, secret_bytes{hex_in(in, "challengeKey")}});
  out.csr = hex_in(in, "csr");
  std::ranges::copy(hex_in(in, "claimsSha256"), out.claims.begin());
  out.now = from_millis(in.integer("now").value());
  auto expected = in.object("expected").value();
  out.ek_hash = expected.text("ekHash").value();
  out.ek_cert = expected.text("ekCert").value();
  out.model = expected.text("model").value();
  out.statement = expected.text("statement").value();
  return out;
}

std::vector<recorded> evidence_of_a_tpm() {
  std::ifstream in{std::filesystem::path{BC_SOURCE_DIR} /
                   "tests/golden/attest/tpm-evidence.json"};
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = json::parse(text.str());
  REQUIRE(parsed);
  std::vector<recorded> out;
  for (const auto& v : parsed.value().GetArray())
    out.push_back(read_one(v));
  REQUIRE(out.size() == 4);
  return out;
}

}  // namespace

TEST_CASE("tpm golden: what a TPM proved is judged as it was") {
  for (const auto& r : evidence_of_a_tpm()) {
    INFO(r.name);
    auto verdict = r.judged();
    REQUIRE(std::holds_alternative<admitted>(verdict));
    const auto& a = std::get<admitted>(verdict);
    CHECK(a.ek_hash == r.ek_hash);
    CHECK(text_of(a.ek_certificate) == r.ek_cert);
    CHECK(a.identity.model == r.model);
    CHECK(a.statement == r.statement);
  }
}

TEST_CASE("tpm golden: no byte of it can be another") {
  const std::pair<const char*, bytes evidence::*> fields[] = {
      {"activation", &evidence::activation},
      {"EK", &evidence::ek_public},
      {"AK", &evidence::ak_public},
      {"node key", &evidence::node_key_public},
      {"attest", &evidence::certify_info},
      {"signature", &evidence::certify_signature}};
  for (auto& r : evidence_of_a_tpm()) {
    r.e.ek_certificate.clear();
    for (const auto& [name, field] : fields)
      for (std::size_t at = 0; at < (r.e.*field).size(); ++at) {
        auto& byte = (r.e.*field)[at];
        byte ^= 1;
        INFO(r.name << ": " << name << " at " << at);
        CHECK(std::holds_alternative<code>(r.judged()));
        byte ^= 1;
      }
  }
}

// From the recorded publics, so that a seed alone makes each.
TEST_CASE("tpm golden: names, statements and credentials") {
  json::writer out;
  out.begin_array();
  for (const auto& r : evidence_of_a_tpm()) {
    auto ek = *parse_public(r.e.ek_public);
    // The same key as an AK, for a Name of each kind of key.
    auto ak = ek;
    ak.attributes = 0x50472;
    ak.auth_policy.clear();
    if (auto* rsa = std::get_if<rsa_parameters>(&ak.parameters)) {
      rsa->symmetric = {};
      rsa->scheme = {alg::rsassa, alg::sha256};
    } else {
      auto& ecc = std::get<ecc_parameters>(ak.parameters);
      ecc.symmetric = {};
      ecc.scheme = {alg::ecdsa, ak.name_alg};
    }
    auto ak_public = encode(ak);
    auto name = name_of(ak, ak_public);
    bytes secret(32, 0x5e);
    bytes random(ek.name_alg == alg::sha384 ? 48 : 32, 0x17);
    auto made = make_credential_with(ek, name, secret, random);
    REQUIRE(made);
    out.begin_object()
        .field("name", r.name)
        .field("ekPublic", to_hex(r.e.ek_public))
        .field("ekHash", to_hex(ek_hash(ek)))
        .field("akPublic", to_hex(ak_public))
        .field("akName", to_hex(name))
        .field("qualifiedOwner",
               to_hex(qualified_name_of_primary(hierarchy::owner, name)))
        .field("qualifiedEndorsement",
               to_hex(qualified_name_of_primary(hierarchy::endorsement, name)))
        .field("statement", ak_statement(name))
        .field("secret", to_hex(secret))
        .field("random", to_hex(random))
        .field("blob", to_hex(made.value().blob));
    if (ek.ecc() != nullptr)
      out.field("encryptedSecret", to_hex(made.value().encrypted_secret));
    out.end_object();
  }
  out.end_array();
  bc::testing::check_golden("attest/tpm-vectors.json", out.str());
}

TEST_CASE("tpm golden: the closed list of codes") {
  std::string text;
  for (auto c : every_code)
    text += std::string{text_of(c)} + "\n";
  bc::testing::check_golden("attest/tpm-codes.txt", text);
}
