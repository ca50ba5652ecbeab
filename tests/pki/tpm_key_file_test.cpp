// spec: ATTESTATION section 2.2 (node.key of a key in a TPM)
#include "base/encoding.hpp"
#include "pki/tpm/key_attestation.hpp"
#include "pki/tpm/key_file.hpp"
#include "pki/tpm/key_rules.hpp"
#include "pki/tpm/templates.hpp"
#include "tests/pki/support.hpp"
#include "tests/support/soft_tpm.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki::tpm;

namespace {

key_blobs sample() {
  return {bytes(126, 0x42), encode(bc::testing::node_key_area(
                                bc::pki::private_key::generate().pub()))};
}

}  // namespace

TEST_CASE("tpm key file: written and read again") {
  auto key = sample();
  auto text = key_file_of(key);
  CHECK(text.starts_with("-----BEGIN TSS2 PRIVATE KEY-----\n"));
  CHECK(is_key_file(text));
  auto read = read_key_file(text);
  REQUIRE(read);
  CHECK(read.value() == key);
  CHECK_FALSE(
      is_key_file(pki::private_key::generate().pkcs8_pem().expose_text()));
  CHECK_FALSE(
      read_key_file(pki::private_key::generate().pkcs8_pem().expose_text()));
}

TEST_CASE("tpm key file: damaged, it is another key's or none") {
  auto text = key_file_of(sample());
  auto der = pki::pem::decode("TSS2 PRIVATE KEY", text);
  REQUIRE(der);
  pki::test::dice d;
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    auto damaged = pki::test::mutate(der.value().expose(), d);
    auto again = read_key_file(
        pki::pem::encode("TSS2 PRIVATE KEY", damaged).expose_text());
    if (!again)
      ++refused;
    else
      CHECK(key_file_of(again.value()) ==
            pki::pem::encode("TSS2 PRIVATE KEY", damaged).expose_text());
  }
  CHECK(refused > 100);
  CHECK_FALSE(read_key_file(""));
  CHECK_FALSE(read_key_file(text + text));
  auto empty = sample();
  empty.private_area.clear();
  CHECK_FALSE(read_key_file(key_file_of(empty)));
}

// No template changes unseen: it would be another machine. The digests, and
// the policies in them, were derived from the profile by another program.
TEST_CASE("tpm templates: protocol") {
  const std::pair<const char*, const char*> eks[] = {
      {"rsa-2048",
       "32503929a1287eedaa3e89d932f9b51a6f92abd0fa57721ffa6fc041e04f7498"},
      {"rsa-2048-high",
       "712ae25edaa6aa498878645d96125d62b2e7d4f7cb69fd55763f1cbcff32239b"},
      {"p256",
       "0f1277a2f3f382e7f75db466fac234182a8d62f97dfbaae7b06fdf52bda51467"},
      {"p256-high",
       "61a6907c8e905a6c135ed295657dc69524643d14caf30989f399dee685fa2d59"},
      {"p384",
       "07a006fac337f6b3451362be5f925bb9c121b9d3cd44470f4bbf14f6387b9168"},
      {"rsa-3072",
       "6791531884658a2cfec52152268c1a4a4b456e0ba1d1230bcad43c17bdd045d8"}};
  CHECK(ek_kinds.size() == std::size(eks));
  auto digest = [](const public_area& area) {
    CHECK(parse_public(encode(area)) == area);
    return to_hex(pki::sha256(encode(area)));
  };
  std::size_t at = 0;
  for (const auto& [kind, expected] : eks) {
    INFO(kind);
    // The order is protocol too.
    CHECK(ek_kinds[at++].name == kind);
    auto area = ek_template(kind);
    REQUIRE(area);
    CHECK(digest(*area) == expected);
  }
  CHECK_FALSE(ek_template("rsa-4096"));
  CHECK(digest(ak_template()) ==
        "7f52301f398ee105f511a19fe3a9ca9624330ebdf4fc9a0b2e4615ceab8ff14c");
  CHECK(digest(srk_template()) ==
        "10f0d8dad1645f2d7380c49974c25d73738921b8789605bb3a6941c87d40f5c1");
  CHECK(digest(node_key_template()) ==
        "d7f5d73fd9e388b8beb9d85035e99902c0b5d73dba1f174e3991a27402f8457b");
}

// What a TPM makes of a template is the template with a key in it.
TEST_CASE("tpm templates: the judge takes what is made of them") {
  using bc::testing::key_kind;
  auto with_key_of = [](public_area area, const public_area& key) {
    if (auto* rsa = std::get_if<rsa_parameters>(&area.parameters)) {
      rsa->modulus = key.rsa()->modulus;
    } else {
      auto& ecc = std::get<ecc_parameters>(area.parameters);
      ecc.x = key.ecc()->x;
      ecc.y = key.ecc()->y;
    }
    return area;
  };
  const std::pair<const char*, key_kind> kinds[] = {
      {"rsa-2048", key_kind::rsa_2048}, {"rsa-2048-high", key_kind::rsa_2048},
      {"p256", key_kind::p256},         {"p256-high", key_kind::p256},
      {"p384", key_kind::p384},         {"rsa-3072", key_kind::rsa_3072}};
  REQUIRE(std::size(kinds) == ek_kinds.size());
  for (const auto& [name, kind] : kinds) {
    INFO(name);
    auto area = *ek_template(name);
    CHECK(check_ek(area) == code::ek_template);  // no key yet
    CHECK_FALSE(check_ek(with_key_of(area, bc::testing::make_ek(kind).area)));
  }
  auto key = bc::testing::make_ak(key_kind::p256).area;
  CHECK(check_ak(ak_template()) == code::ak_algorithm);
  CHECK_FALSE(check_ak(with_key_of(ak_template(), key)));
  bc::testing::certification node;
  node.area = with_key_of(node_key_template(), node.area);
  CHECK_FALSE(verify_key_attestation(node.make(), node.csr));
}
