// spec: ATTESTATION sections 1 (caps), 2.1 and 2.7 (messages of a TPM) and 4
// (of discovery)
#include "tests/base/wire_checks.hpp"
#include "tests/base/wire_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace wire_samples;

namespace {

wire::join_request decoded(const wire::join_request& sent) {
  auto got = wire::decode_join_request(wire::encode(sent));
  REQUIRE(got);
  return std::move(got).value();
}

// A field's limits, from both sides.
template <class Make, class Field>
void check_bounds(Make make, Field field, std::size_t least, std::size_t most,
                  const std::string& path) {
  INFO(path);
  auto with = [&](std::size_t size) {
    auto message = make();
    field(message) = filled(size, 1);
    return message.decode();
  };
  CHECK(with(least).has_value());
  CHECK(with(most).has_value());
  check_bad(with(most + 1), path);
  if (least > 0)
    check_bad(with(least - 1), path);
}

struct join_sample {
  wire::join_request r = tpm_request();
  [[nodiscard]] auto decode() const {
    return wire::decode_join_request(wire::encode(r));
  }
};
struct challenge_sample {
  wire::challenge_request r = tpm_challenge_request();
  [[nodiscard]] auto decode() const {
    return wire::decode_challenge_request(wire::encode(r));
  }
};
struct renew_sample {
  wire::renew_request r = attested_renewal();
  [[nodiscard]] auto decode() const {
    return wire::decode_renew_request(wire::encode(r));
  }
};

}  // namespace

TEST_CASE("wire: a TPM's request for a challenge, and every bound of it") {
  const auto sent = tpm_challenge_request();
  auto got = wire::decode_challenge_request(wire::encode(sent));
  REQUIRE(got);
  REQUIRE(got.value().tpm);
  CHECK(got.value().attestor == "tpm");
  CHECK(got.value().tpm->ek_public == sent.tpm->ek_public);
  CHECK(got.value().tpm->ak_public == sent.tpm->ak_public);
  CHECK(got.value().tpm->claims_sha256 == sent.tpm->claims_sha256);
  CHECK(got.value().leaf.empty());

  auto make = [] { return challenge_sample{}; };
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->ek_public; }, 1, 1024,
      "/evidence/tpm/ekPublic");
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->ak_public; }, 1, 1024,
      "/evidence/tpm/akPublic");
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->claims_sha256; }, 32, 32,
      "/evidence/tpm/claimsSha256");
}

TEST_CASE("wire: a TPM's challenge has what its TPM opens it with") {
  const auto sent = tpm_challenge_body();
  auto got = wire::decode_challenge_body(wire::encode(sent));
  REQUIRE(got);
  CHECK(got.value().payload == sent.payload);
  CHECK(got.value().encrypted_secret == sent.encrypted_secret);
  CHECK(got.value().claims_sha256 == sent.claims_sha256);
  // Another attestor's has neither.
  got = wire::decode_challenge_body(wire::encode(challenge_body()));
  REQUIRE(got);
  CHECK(got.value().encrypted_secret.empty());
  CHECK(got.value().claims_sha256.empty());
  auto bad = sent;
  bad.claims_sha256.pop_back();
  check_bad(wire::decode_challenge_body(wire::encode(bad)), "/claimsSha256");
  bad = sent;
  bad.encrypted_secret = filled(4097, 1);
  check_bad(wire::decode_challenge_body(wire::encode(bad)), "/encryptedSecret");
}

TEST_CASE("wire: a join by a TPM, and every bound of it") {
  const auto sent = tpm_request();
  const auto got = decoded(sent);
  REQUIRE(got.tpm);
  const auto &a = *got.tpm, &b = *sent.tpm;
  CHECK(a.kid == b.kid);
  CHECK(a.nonce == b.nonce);
  CHECK(a.expires_ms == b.expires_ms);
  CHECK(a.activation == b.activation);
  CHECK(a.ek_public == b.ek_public);
  CHECK(a.ek_certificate == b.ek_certificate);
  CHECK(a.ek_chain == b.ek_chain);
  CHECK(a.ak_public == b.ak_public);
  CHECK(a.node_key_public == b.node_key_public);
  CHECK(a.certify_info == b.certify_info);
  CHECK(a.certify_signature == b.certify_signature);
  CHECK_FALSE(got.x509pop);
  CHECK_FALSE(got.discovery);
  CHECK_FALSE(got.sealed_token);
  CHECK_FALSE(decoded(request()).tpm);

  auto make = [] { return join_sample{}; };
  const std::string at = "/evidence/tpm/";
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->nonce; }, 16, 16,
      at + "nonce");
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->activation; }, 32, 32,
      at + "activation");
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->ek_public; }, 1, 1024,
      at + "ekPublic");
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->ak_public; }, 1, 1024,
      at + "akPublic");
  // These may be missing.
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->ek_certificate; }, 0, 4096,
      at + "ekCert");
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->node_key_public; }, 0, 1024,
      at + "nodeKeyPublic");
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->certify_info; }, 0, 1024,
      at + "certifyInfo");
  check_bounds(
      make, [](auto& m) -> bytes& { return m.r.tpm->certify_signature; }, 0,
      1024, at + "certifySignature");
}

TEST_CASE("wire: an EK's chain is counted before it is read") {
  auto with = [](std::vector<bytes> chain) {
    auto r = tpm_request();
    r.tpm->ek_chain = std::move(chain);
    return wire::decode_join_request(wire::encode(r));
  };
  CHECK(with({}).has_value());
  CHECK(with(std::vector<bytes>(4, filled(4096, 1))).has_value());
  check_bad(with(std::vector<bytes>(5, filled(1, 1))), "/evidence/tpm/ekChain");
  check_bad(with({filled(4097, 1)}), "/evidence/tpm/ekChain");
  check_bad(with({{}}), "/evidence/tpm/ekChain");

  const auto good = wire::encode(tpm_request());
  auto decode = wire::decode_join_request;
  check_bad(decode(swapped(good, "\"kid\":\"sha256/AAAA\"",
                           "\"kid\":\"" + std::string(65, 'k') + "\"")),
            "/evidence/tpm/kid");
  check_bad(decode(swapped(good, "\"exp\":1764000120000", "\"exp\":\"soon\"")),
            "/evidence/tpm/exp");
  check_bad(decode(swapped(good, "\"akPublic\"", "\"ak\"")),
            "/evidence/tpm/akPublic");
}

// Which part is missing is a refusal's to say, not the decoder's.
TEST_CASE("wire: an attestation of a new key, in a renewal and in a rejoin") {
  const auto sent = attested_renewal();
  auto got = wire::decode_renew_request(wire::encode(sent));
  REQUIRE(got);
  REQUIRE(got.value().attestation);
  CHECK(got.value().attestation->ak_public == sent.attestation->ak_public);
  CHECK(got.value().attestation->node_key_public ==
        sent.attestation->node_key_public);
  CHECK(got.value().attestation->certify_info ==
        sent.attestation->certify_info);
  CHECK(got.value().attestation->signature == sent.attestation->signature);
  CHECK_FALSE(
      wire::decode_renew_request(wire::encode(renewal())).value().attestation);

  auto make = [] { return renew_sample{}; };
  using attestation = wire::key_attestation;
  const std::pair<bytes attestation::*, const char*> fields[] = {
      {&attestation::ak_public, "akPublic"},
      {&attestation::node_key_public, "nodeKeyPublic"},
      {&attestation::certify_info, "certifyInfo"},
      {&attestation::signature, "signature"}};
  for (const auto& [field, name] : fields)
    check_bounds(
        make, [f = field](auto& m) -> bytes& { return (*m.r.attestation).*f; },
        0, 1024, std::string{"/keyAttestation/"} + name);

  auto rejoin = rejoin_request();
  rejoin.x509pop->attestation = attestation_of_key();
  const auto back = decoded(rejoin);
  REQUIRE(back.x509pop);
  REQUIRE(back.x509pop->attestation);
  CHECK(back.x509pop->attestation->certify_info ==
        rejoin.x509pop->attestation->certify_info);
  rejoin.x509pop->attestation->signature = filled(1025, 1);
  check_bad(wire::decode_join_request(wire::encode(rejoin)),
            "/evidence/x509pop/keyAttestation/signature");
}

TEST_CASE("wire: a ramdisk's vouch and its boot's token") {
  const auto sent = discovery_request();
  auto got = decoded(sent);
  REQUIRE(got.discovery);
  CHECK(got.discovery->vouch == sent.discovery->vouch);
  CHECK(got.discovery->sealed_token == sent.discovery->sealed_token);
  CHECK_FALSE(got.tpm);
  auto without = sent;
  without.discovery->sealed_token.reset();
  CHECK_FALSE(decoded(without).discovery->sealed_token);

  auto bad = sent;
  bad.discovery->vouch = std::string(4096, 'v');
  CHECK(decoded(bad).discovery);
  bad.discovery->vouch += 'v';
  check_bad(wire::decode_join_request(wire::encode(bad)),
            "/evidence/discovery/vouch");
  bad = sent;
  bad.discovery->sealed_token = std::string(4097, 's');
  check_bad(wire::decode_join_request(wire::encode(bad)),
            "/evidence/discovery/sealed");
}
