// spec: ATTESTATION section 2.3 (MakeCredential in software)
#include "base/encoding.hpp"
#include "pki/digest.hpp"
#include "pki/tpm/credential.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/evp.hpp"
#include "pki/tpm/hash.hpp"
#include "pki/tpm/key_rules.hpp"
#include "tests/support/soft_tpm.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki::tpm;
using namespace bc::testing;

namespace {

const key_kind every_kind[] = {key_kind::rsa_2048, key_kind::rsa_3072,
                               key_kind::p256, key_kind::p384};

}  // namespace

TEST_CASE("tpm credential: each EK opens what is made for it and its AK") {
  auto name = make_ak(key_kind::p256).name();
  for (auto kind : every_kind) {
    auto ek = make_ek(kind);
    auto secret = pki::random_bytes(32);
    auto made = make_credential(ek.area, name, secret);
    REQUIRE(made);
    auto opened =
        activate(ek, name, made.value().blob, made.value().encrypted_secret);
    REQUIRE(opened);
    CHECK(*opened == secret);
    // Each is made anew.
    auto again = make_credential(ek.area, name, secret);
    CHECK(again.value().blob != made.value().blob);
    CHECK(again.value().encrypted_secret != made.value().encrypted_secret);
  }
}

TEST_CASE(
    "tpm credential: no other AK, no other EK, no changed byte opens it") {
  auto name = make_ak(key_kind::p256).name();
  auto foreign = make_ak(key_kind::p256, 1).name();
  for (auto kind : every_kind) {
    auto ek = make_ek(kind);
    auto made = make_credential(ek.area, name, bytes(32, 5)).value();
    CHECK_FALSE(activate(ek, foreign, made.blob, made.encrypted_secret));
    auto other = make_ek(kind, 1);
    CHECK_FALSE(activate(other, name, made.blob, made.encrypted_secret));
    for (std::size_t at = 0; at < made.blob.size(); ++at) {
      auto changed = made.blob;
      changed[at] ^= 1;
      CHECK_FALSE(activate(ek, name, changed, made.encrypted_secret));
    }
  }
}

TEST_CASE(
    "tpm credential: a given seed makes one blob, and a scalar one of all") {
  auto name = make_ak(key_kind::p256).name();
  for (auto kind : every_kind) {
    auto ek = make_ek(kind);
    bytes random(ek.area.name_alg == alg::sha384 ? 48 : 32, 3);
    auto one = make_credential_with(ek.area, name, bytes(32, 5), random);
    auto two = make_credential_with(ek.area, name, bytes(32, 5), random);
    REQUIRE(one);
    CHECK(one.value().blob == two.value().blob);
    bool curve = ek.area.ecc() != nullptr;
    CHECK((one.value().encrypted_secret == two.value().encrypted_secret) ==
          curve);
    CHECK(activate(ek, name, one.value().blob, one.value().encrypted_secret) ==
          bytes(32, 5));
  }
}

TEST_CASE("tpm credential: a secret up to one digest") {
  auto name = make_ak(key_kind::p256).name();
  auto small = make_ek(key_kind::p256), large = make_ek(key_kind::p384);
  CHECK(make_credential(small.area, name, bytes(32)));
  CHECK_FALSE(make_credential(small.area, name, bytes(33)));
  CHECK(make_credential(large.area, name, bytes(48)));
  CHECK_FALSE(make_credential(large.area, name, bytes(49)));
  auto empty = make_credential(small.area, name, {});
  REQUIRE(empty);
  CHECK(activate(small, name, empty.value().blob,
                 empty.value().encrypted_secret) == bytes{});
}

TEST_CASE("tpm credential: no EK of ours, no credential") {
  auto name = make_ak(key_kind::p256).name();
  CHECK_FALSE(make_credential(make_ak(key_kind::p256).area, name, bytes(32)));
  auto off = make_ek(key_kind::p256);
  std::get<ecc_parameters>(off.area.parameters).y[31] ^= 1;
  CHECK(check_ek(off.area) == code::ek_template);
  CHECK_FALSE(make_credential(off.area, name, bytes(32)));
  auto good = make_ek(key_kind::p256);
  CHECK_FALSE(make_credential_with(good.area, name, bytes(32), bytes(32, 0)));
  CHECK_FALSE(
      make_credential_with(good.area, name, bytes(32), bytes(32, 0xff)));
  auto rsa = make_ek(key_kind::rsa_2048);
  CHECK_FALSE(make_credential_with(rsa.area, name, bytes(32), bytes(31)));
}

// A TPM of old firmware gives its numbers without leading zeros, and derives
// with them as they stand.
TEST_CASE("tpm credential: an EK whose x is short in its public area") {
  auto name = make_ak(key_kind::p256).name();
  for (int number = 10; number < 2000; ++number) {
    auto ek = make_ek(key_kind::p256, number);
    auto& ecc = std::get<ecc_parameters>(ek.area.parameters);
    if (ecc.x[0] != 0)
      continue;
    ecc.x.erase(ecc.x.begin());
    CHECK_FALSE(check_ek(ek.area));
    auto made = make_credential(ek.area, name, bytes(32, 5));
    REQUIRE(made);
    CHECK(activate(ek, name, made.value().blob,
                   made.value().encrypted_secret) == bytes(32, 5));
    return;
  }
  FAIL("no key with a leading zero in 2000");
}

TEST_CASE("tpm hash: KDFa and HMAC of one block, by hand") {
  // HMAC-SHA256 of RFC 4231 case 2.
  CHECK(
      to_hex(hmac(alg::sha256, as_bytes("Jefe"),
                  {as_bytes("what do ya want "), as_bytes("for nothing?")})) ==
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  bytes message = from_hex("00000001").value();
  for (char c : std::string_view{"STORAGE"})
    message.push_back(static_cast<std::uint8_t>(c));
  for (int byte : {0, 0xaa, 0xbb, 0, 0, 0, 0x80})
    message.push_back(static_cast<std::uint8_t>(byte));
  auto whole = hmac(alg::sha256, bytes(32, 1), {message});
  auto derived =
      kdfa(alg::sha256, bytes(32, 1), "STORAGE", bytes{0xaa}, bytes{0xbb}, 128);
  CHECK(to_hex(derived.expose()) == to_hex(byte_view{whole}.first(16)));
  CHECK(hash(0x7777, {}).empty());
  CHECK(digest_size(0x7777) == 0);
  CHECK(digest_size(alg::sha512) == 64);
}

TEST_CASE("tpm credential: opened in software as a TPM opens it") {
  const auto name = make_ak(key_kind::p256).name();
  const auto key = pki::private_key::generate();
  auto area = make_ek(key_kind::p256).area;
  auto& ecc = std::get<ecc_parameters>(area.parameters);
  const byte_view point{key.pub().sec1()};
  ecc.x = to_bytes(point.subspan(1, 32));
  ecc.y = to_bytes(point.subspan(33, 32));
  const auto secret = pki::random_bytes(32);
  const auto made = make_credential(area, name, secret).value();
  auto opened = open_credential(area, key, name, made);
  REQUIRE(opened);
  CHECK(to_bytes(opened->expose()) == secret);

  CHECK_FALSE(
      open_credential(area, key, make_ak(key_kind::p256, 1).name(), made));
  CHECK_FALSE(open_credential(area, pki::private_key::generate(), name, made));
  CHECK_FALSE(
      open_credential(make_ek(key_kind::rsa_2048).area, key, name, made));
  for (auto part : {&credential::blob, &credential::encrypted_secret})
    for (std::size_t at = 0; at < (made.*part).size(); ++at) {
      auto changed = made;
      (changed.*part)[at] ^= 1;
      CHECK_FALSE(open_credential(area, key, name, changed));
      changed = made;
      (changed.*part).resize(at);
      CHECK_FALSE(open_credential(area, key, name, changed));
    }
}
