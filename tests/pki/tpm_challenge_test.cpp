// spec: ATTESTATION section 1.1 (a challenge without stored state)
#include "base/encoding.hpp"
#include "pki/rotation.hpp"
#include "pki/tpm/challenge.hpp"
#include "tests/pki/support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::tpm;
using bc::pki::test::noon;

namespace {

key_bundle bundle() {
  return std::move(make_bundle("example.test", noon)).value();
}

const std::array<std::uint8_t, 16> nonce{1, 2, 3};

challenge_subject subject() {
  challenge_subject out{"tpm", {}, {}};
  out.csr_sha256[0] = 1;
  out.evidence[0] = 2;
  return out;
}

std::string recalled(const std::vector<challenge_key>& keys, const challenge& c,
                     const challenge_subject& about, time_point now = noon) {
  auto out = recall_secret(keys, c, about, now);
  if (const auto* fault = std::get_if<code>(&out))
    return std::string{text_of(*fault)};
  return to_hex(std::get<secret_bytes>(out).expose());
}

}  // namespace

TEST_CASE("tpm challenge: any process of the bundle recalls the secret") {
  auto b = bundle();
  auto here = challenge_keys(b), there = challenge_keys(b);
  REQUIRE(here.size() == 1);
  CHECK(here[0].kid == b.join_encryption.pub().pin());
  auto given = make_challenge(here[0], nonce, noon);
  CHECK(given.expires_at == noon + seconds{120});
  auto secret = challenge_secret(here[0], given, subject());
  CHECK(secret.size() == 32);
  CHECK(recalled(there, given, subject()) == to_hex(secret.expose()));
}

// Derived by hand: K and the secret are HKDF-SHA256 (RFC 5869).
TEST_CASE("tpm challenge: a vector that another program derived") {
  challenge_key key{"sha256/x", secret_bytes{bytes(32, 7)}};
  challenge given{"sha256/x", {}, from_millis(1'800'000'000'000)};
  given.nonce.fill(9);
  challenge_subject about{"tpm", {}, {}};
  about.csr_sha256.fill(1);
  about.evidence.fill(2);
  CHECK(to_hex(challenge_secret(key, given, about).expose()) ==
        "b95c0fe9bdf34421c77d208e1fb18e726acccb0acb7766b6a7d3ed3856b27a84");
  auto scalar = bytes(32);
  scalar[31] = 5;
  auto b = bundle();
  b.join_encryption = std::move(private_key::from_scalar(scalar)).value();
  CHECK(to_hex(challenge_keys(b)[0].key.expose()) ==
        "2798abb0be5e5aa6b62a1a7daf13600b017cf0a8b6d69300ead9fc3f9b0f4e8d");
}

TEST_CASE("tpm challenge: whatever is changed, the secret is another") {
  auto keys = challenge_keys(bundle());
  auto given = make_challenge(keys[0], nonce, noon);
  auto right = recalled(keys, given, subject());
  auto other = given;
  other.nonce[15] ^= 1;
  CHECK(recalled(keys, other, subject()) != right);
  other = given;
  other.expires_at -= milliseconds{1};
  CHECK(recalled(keys, other, subject()) != right);
  auto about = subject();
  about.csr_sha256[31] ^= 1;
  CHECK(recalled(keys, given, about) != right);
  about = subject();
  about.evidence[31] ^= 1;
  CHECK(recalled(keys, given, about) != right);
  about = subject();
  about.attestor = "x509pop";
  CHECK(recalled(keys, given, about) != right);
  CHECK(recalled(keys, given, subject()) == right);
}

TEST_CASE("tpm challenge: after now, and no later than any we would give") {
  auto keys = challenge_keys(bundle());
  auto given = make_challenge(keys[0], nonce, noon);
  auto good = recalled(keys, given, subject());
  CHECK(good.size() == 64);
  auto at = [&](milliseconds after) {
    return recalled(keys, given, subject(), noon + after);
  };
  CHECK(at(milliseconds{119'999}) == good);
  CHECK(at(milliseconds{120'000}) == "challenge-expired");
  CHECK(at(milliseconds{500'000}) == "challenge-expired");
  // The store's clock stepped back, or another process's is ahead of ours.
  CHECK(at(milliseconds{-1}) == good);
  CHECK(at(milliseconds{-10'000}) == good);
  // One that ends later than any we would give now.
  CHECK(at(milliseconds{-10'001}) == "challenge-expired");
}

TEST_CASE("tpm challenge: good while its key rotates, then unknown") {
  auto b = bundle();
  auto before = challenge_keys(b);
  auto given = make_challenge(before[0], nonce, noon);
  auto secret = recalled(before, given, subject());

  auto prepared =
      std::move(prepare_key(b, key_name::join_encryption, noon)).value();
  auto keys = challenge_keys(prepared);
  REQUIRE(keys.size() == 2);
  CHECK(keys[0].kid == given.kid);
  CHECK(recalled(keys, given, subject()) == secret);
  // What another process gave that activated already.
  auto by_next = make_challenge(keys[1], nonce, noon);
  CHECK(recalled(keys, by_next, subject()).size() == 64);
  CHECK(recalled(before, by_next, subject()) == "challenge-unknown");

  auto active =
      std::move(activate_key(prepared, key_name::join_encryption, noon, true))
          .value();
  auto after = challenge_keys(active);
  CHECK(after[0].kid == by_next.kid);
  CHECK(recalled(after, given, subject()) == secret);
  auto retired =
      std::move(retire_key(active, key_name::join_encryption, noon, true))
          .value();
  CHECK(recalled(challenge_keys(retired), given, subject()) ==
        "challenge-unknown");

  challenge nobody = given;
  nobody.kid = "sha256/nobody";
  CHECK(recalled(keys, nobody, subject()) == "challenge-unknown");
  CHECK(recalled({}, given, subject()) == "challenge-unknown");
  // The key is judged before the time.
  CHECK(recalled(keys, nobody, subject(), noon + seconds{500}) ==
        "challenge-unknown");
}

TEST_CASE("tpm challenge: evidence is the EK and the AK, apart") {
  bytes ab{1, 2}, a{1}, b{2};
  const auto claims = sha256(ab), others = sha256(a);
  CHECK(tpm_evidence(ab, {}, claims) != tpm_evidence(a, b, claims));
  CHECK(tpm_evidence(a, b, claims) != tpm_evidence(b, a, claims));
  CHECK(tpm_evidence(a, b, claims) != tpm_evidence(a, b, others));
  CHECK(tpm_evidence(a, b, claims) == tpm_evidence(a, b, claims));
}
