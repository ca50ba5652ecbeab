// spec: ATTESTATION section 2.4 rows 3, 4, 9 and 10
#include "pki/tpm/key_rules.hpp"
#include "tests/support/soft_tpm.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki::tpm;
using namespace bc::testing;

namespace {

using change = std::function<void(public_area&)>;
struct row {
  const char* what;
  change apply;
  std::optional<code> expected;
};

rsa_parameters& rsa_of(public_area& a) {
  return std::get<rsa_parameters>(a.parameters);
}
ecc_parameters& ecc_of(public_area& a) {
  return std::get<ecc_parameters>(a.parameters);
}

// Which bits must be set and which must not; the rest are free.
void check_bits(const public_area& good, std::uint32_t must,
                std::uint32_t never, code expected,
                std::optional<code> (*check)(const public_area&)) {
  REQUIRE_FALSE(check(good));
  for (int i = 0; i < 32; ++i) {
    auto bit = 1u << i;
    auto flipped = good;
    flipped.attributes ^= bit;
    auto verdict = check(flipped);
    INFO("bit " << i);
    if (((must | never) & bit) != 0)
      CHECK(verdict == expected);
    else
      CHECK_FALSE(verdict);
  }
}

void check_rows(const public_area& good, const std::vector<row>& rows,
                std::optional<code> (*check)(const public_area&)) {
  for (const auto& r : rows) {
    auto changed = good;
    r.apply(changed);
    INFO(r.what);
    CHECK(check(changed) == r.expected);
  }
}

}  // namespace

TEST_CASE("tpm EK: the four kinds are taken (case 120)") {
  for (auto kind :
       {key_kind::rsa_2048, key_kind::rsa_3072, key_kind::p256, key_kind::p384})
    CHECK_FALSE(check_ek(make_ek(kind).area));
}

TEST_CASE("tpm EK: each attribute bit, flipped") {
  using namespace attribute;
  for (auto kind : {key_kind::rsa_2048, key_kind::p256, key_kind::p384})
    check_bits(make_ek(kind).area,
               fixed_tpm | fixed_parent | sensitive_data_origin |
                   admin_with_policy | restricted | decrypt,
               sign | encrypted_duplication, code::ek_template, check_ek);
  // 0x300b2 and 0x300f2, the low and the high range (case 121).
  auto high = make_ek(key_kind::p256).area;
  high.attributes = 0x300f2;
  CHECK_FALSE(check_ek(high));
}

TEST_CASE("tpm EK: parameters of an RSA key") {
  auto bad = code::ek_template;
  check_rows(
      make_ek(key_kind::rsa_2048).area,
      {{"exponent 65537", [](auto& a) { rsa_of(a).exponent = 65537; }, {}},
       {"exponent 3", [](auto& a) { rsa_of(a).exponent = 3; }, bad},
       {"another policy", [](auto& a) { a.auth_policy = bytes(32, 1); }, {}},
       {"a leading zero",
        [](auto& a) {
          auto& n = rsa_of(a).modulus;
          n.insert(n.begin(), 0);
        },
        {}},
       {"SHA-1", [](auto& a) { a.name_alg = alg::sha1; }, bad},
       {"SHA-384", [](auto& a) { a.name_alg = alg::sha384; }, bad},
       {"no Name", [](auto& a) { a.name_alg = alg::null; }, bad},
       {"AES-256", [](auto& a) { rsa_of(a).symmetric.bits = 256; }, bad},
       {"AES in another mode", [](auto& a) { rsa_of(a).symmetric.mode = 0x42; },
        bad},
       {"SM4", [](auto& a) { rsa_of(a).symmetric.algorithm = alg::sm4; }, bad},
       {"no cipher", [](auto& a) { rsa_of(a).symmetric = {}; }, bad},
       {"OAEP",
        [](auto& a) {
          rsa_of(a).scheme = {alg::oaep, alg::sha256};
        },
        bad},
       {"1024 bits", [](auto& a) { rsa_of(a).bits = 1024; }, bad},
       {"4096 bits", [](auto& a) { rsa_of(a).bits = 4096; }, bad},
       {"no modulus", [](auto& a) { rsa_of(a).modulus.clear(); }, bad},
       {"a short modulus",
        [](auto& a) { rsa_of(a).modulus.erase(rsa_of(a).modulus.begin()); },
        bad},
       {"a modulus of 2047 bits", [](auto& a) { rsa_of(a).modulus[0] &= 0x7f; },
        bad},
       {"an even modulus", [](auto& a) { rsa_of(a).modulus.back() &= 0xfe; },
        bad}},
      check_ek);
}

TEST_CASE("tpm EK: parameters of a key on a curve") {
  auto bad = code::ek_template;
  check_rows(
      make_ek(key_kind::p384).area,
      {{"SHA-256", [](auto& a) { a.name_alg = alg::sha256; }, bad},
       {"AES-128", [](auto& a) { ecc_of(a).symmetric.bits = 128; }, bad},
       {"P-256", [](auto& a) { ecc_of(a).curve = curve::p256; }, bad},
       {"P-521", [](auto& a) { ecc_of(a).curve = 5; }, bad},
       {"ECDH",
        [](auto& a) {
          ecc_of(a).scheme = {alg::ecdh, alg::sha384};
        },
        bad},
       {"a KDF",
        [](auto& a) {
          ecc_of(a).kdf = {alg::mgf1, alg::sha256};
        },
        bad},
       {"off the curve", [](auto& a) { ecc_of(a).y[47] ^= 1; }, bad},
       {"no point",
        [](auto& a) {
          ecc_of(a).x.clear();
          ecc_of(a).y.clear();
        },
        bad},
       {"at infinity",
        [](auto& a) {
          ecc_of(a).x = bytes(48);
          ecc_of(a).y = bytes(48);
        },
        bad},
       {"x at the prime or above",
        [](auto& a) { ecc_of(a).x = bytes(48, 0xff); }, bad},
       {"x too long",
        [](auto& a) { ecc_of(a).x.insert(ecc_of(a).x.begin(), 1); }, bad},
       {"leading zeros",
        [](auto& a) { ecc_of(a).x.insert(ecc_of(a).x.begin(), 2, 0); },
        {}}},
      check_ek);
  public_area hmac;
  hmac.type = alg::keyed_hash;
  hmac.name_alg = alg::sha256;
  hmac.attributes = 0x300b2;
  hmac.parameters = secret_key_parameters{};
  CHECK(check_ek(hmac) == bad);
  CHECK(check_ak(hmac) == code::ak_algorithm);
}

TEST_CASE("tpm AK: the kinds that are taken") {
  for (auto kind : {key_kind::rsa_2048, key_kind::rsa_3072, key_kind::p256,
                    key_kind::p384}) {
    auto ak = make_ak(kind).area;
    CHECK_FALSE(check_ak(ak));
    ak.name_alg = alg::sha384;
    CHECK_FALSE(check_ak(ak));
  }
}

TEST_CASE("tpm AK: each attribute bit, flipped (case 123)") {
  using namespace attribute;
  for (auto kind : {key_kind::p256, key_kind::rsa_2048})
    check_bits(make_ak(kind).area,
               fixed_tpm | fixed_parent | sensitive_data_origin |
                   user_with_auth | restricted | sign,
               decrypt | admin_with_policy | encrypted_duplication,
               code::ak_attributes, check_ak);
  auto policy = make_ak(key_kind::p256).area;
  policy.auth_policy = bytes(32, 1);
  CHECK(check_ak(policy) == code::ak_attributes);
  // The algorithm is judged first.
  policy.name_alg = alg::sha1;
  CHECK(check_ak(policy) == code::ak_algorithm);
}

TEST_CASE("tpm AK: algorithms (case 123)") {
  auto bad = code::ak_algorithm;
  check_rows(make_ak(key_kind::p256).area,
             {{"SHA-1 Name", [](auto& a) { a.name_alg = alg::sha1; }, bad},
              {"SHA-512 Name", [](auto& a) { a.name_alg = alg::sha512; }, bad},
              {"no Name", [](auto& a) { a.name_alg = alg::null; }, bad},
              {"no scheme", [](auto& a) { ecc_of(a).scheme = {}; }, bad},
              {"ECDSA with SHA-1",
               [](auto& a) { ecc_of(a).scheme.hash = alg::sha1; }, bad},
              {"ECDSA with SHA-384",
               [](auto& a) { ecc_of(a).scheme.hash = alg::sha384; }, bad},
              {"ECDAA",
               [](auto& a) {
                 ecc_of(a).scheme = {alg::ecdaa, alg::sha256, 1};
               },
               bad},
              {"SM2",
               [](auto& a) {
                 ecc_of(a).scheme = {alg::sm2, alg::sha256};
               },
               bad},
              {"P-384 with SHA-256",
               [](auto& a) { ecc_of(a).curve = curve::p384; }, bad},
              {"a cipher",
               [](auto& a) {
                 ecc_of(a).symmetric = {alg::aes, 128, alg::cfb};
               },
               bad},
              {"a KDF",
               [](auto& a) {
                 ecc_of(a).kdf = {alg::mgf1, alg::sha256};
               },
               bad},
              {"off the curve", [](auto& a) { ecc_of(a).x[31] ^= 1; }, bad}},
             check_ak);
  check_rows(
      make_ak(key_kind::rsa_2048).area,
      {{"no scheme", [](auto& a) { rsa_of(a).scheme = {}; }, bad},
       {"RSAPSS", [](auto& a) { rsa_of(a).scheme.algorithm = alg::rsapss; },
        bad},
       {"SHA-1", [](auto& a) { rsa_of(a).scheme.hash = alg::sha1; }, bad},
       {"1024 bits",
        [](auto& a) {
          rsa_of(a).bits = 1024;
          rsa_of(a).modulus = bytes(128, 0xff);
        },
        bad},
       {"exponent 3", [](auto& a) { rsa_of(a).exponent = 3; }, bad},
       {"bits that are not its modulus's",
        [](auto& a) { rsa_of(a).bits = 3072; }, bad}},
      check_ak);
}
