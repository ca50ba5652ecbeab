// spec: ATTESTATION section 1 (exact parse, caps) and section 8.2
#include "base/encoding.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/structures.hpp"
#include "tests/pki/support.hpp"
#include "tests/support/soft_tpm.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki::tpm;
using namespace bc::testing;

namespace {

std::vector<bytes> publics() {
  std::vector<bytes> out;
  for (auto kind : {key_kind::rsa_2048, key_kind::rsa_3072, key_kind::p256,
                    key_kind::p384}) {
    out.push_back(make_ek(kind).encoded());
    out.push_back(make_ak(kind).encoded());
  }
  public_area hmac;
  hmac.type = alg::keyed_hash;
  hmac.name_alg = alg::sha256;
  hmac.parameters = secret_key_parameters{{alg::hmac, alg::sha256}, {}, {1, 2}};
  out.push_back(encode(hmac));
  public_area pad = hmac;
  pad.parameters =
      secret_key_parameters{{alg::xor_cipher, alg::sha256, alg::mgf1}, {}, {}};
  out.push_back(encode(pad));
  public_area cipher;
  cipher.type = alg::sym_cipher;
  cipher.parameters =
      secret_key_parameters{{}, {alg::aes, 128, alg::cfb}, bytes(32, 7)};
  out.push_back(encode(cipher));
  auto daa = make_ak(key_kind::p256);
  std::get<ecc_parameters>(daa.area.parameters).scheme = {alg::ecdaa,
                                                          alg::sha256, 4};
  out.push_back(daa.encoded());
  return out;
}

std::vector<bytes> attests() {
  certification good;
  certification quote;
  quote.change_attest = [](attest& a) {
    a.type = 0x8018;
    a.other = bytes(40, 9);
  };
  return {good.make().certify_info, quote.make().certify_info};
}

std::vector<bytes> signatures() {
  std::vector<bytes> out;
  for (auto kind : {key_kind::rsa_2048, key_kind::p256, key_kind::p384})
    out.push_back(encode(sign_with(make_ak(kind), as_bytes("message"))));
  out.push_back(
      encode(signature{alg::hmac, alg::sha256, {}, {}, {}, bytes(32, 1)}));
  out.push_back(encode(signature{}));
  return out;
}

// Whole or not at all, and the same bytes again.
template <class Parse>
void holds_exactly(const bytes& whole, Parse parse) {
  auto read = parse(whole);
  REQUIRE(read);
  CHECK(encode(*read) == whole);
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(parse(byte_view{whole}.first(size)));
  auto longer = whole;
  longer.push_back(0);
  CHECK_FALSE(parse(longer));
}

}  // namespace

TEST_CASE("tpm structures: a public area is read whole or not at all") {
  for (const auto& one : publics())
    holds_exactly(one, parse_public);
}

TEST_CASE("tpm structures: a certification is read whole or not at all") {
  auto all = attests();
  holds_exactly(all[0], parse_attest);
  // Another type is read no further than its head.
  auto quote = parse_attest(all[1]);
  REQUIRE(quote);
  CHECK(quote->type == 0x8018);
  CHECK(encode(*quote) == all[1]);
}

TEST_CASE("tpm structures: a signature is read whole or not at all") {
  for (const auto& one : signatures())
    holds_exactly(one, parse_signature);
}

TEST_CASE("tpm structures: whatever is read of damaged bytes is those bytes") {
  pki::test::dice d;
  int read = 0;
  auto count = [&](const auto& parsed, const bytes& from) {
    if (!parsed)
      return;
    ++read;
    CHECK(encode(*parsed) == from);
  };
  for (int round = 0; round < 300; ++round) {
    for (const auto& one : publics()) {
      auto damaged = pki::test::mutate(one, d);
      count(parse_public(damaged), damaged);
    }
    for (const auto& one : attests()) {
      auto damaged = pki::test::mutate(one, d);
      count(parse_attest(damaged), damaged);
    }
    for (const auto& one : signatures()) {
      if (one.size() < 8)
        continue;
      auto damaged = pki::test::mutate(one, d);
      count(parse_signature(damaged), damaged);
    }
  }
  CHECK(read > 100);
}

TEST_CASE("tpm structures: each length field that lies is refused") {
  auto ak = make_ak(key_kind::p256).encoded();
  // authPolicy, then x and y.
  for (std::size_t at : {std::size_t{8}, std::size_t{20}, std::size_t{54}}) {
    REQUIRE((at == 8 || (ak[at] == 0 && ak[at + 1] == 32)));
    for (int change : {-1, 1, 0x7f}) {
      auto lying = ak;
      lying[at + 1] = static_cast<std::uint8_t>(lying[at + 1] + change);
      CHECK_FALSE(parse_public(lying));
    }
    auto high = ak;
    high[at] = 0xff;
    CHECK_FALSE(parse_public(high));
  }
}

TEST_CASE("tpm structures: reserved attributes are refused, every other read") {
  for (int bit = 0; bit < 32; ++bit) {
    auto key = make_ak(key_kind::p256);
    key.area.attributes = 1u << bit;
    bool reserved = ((1u << bit) & ~attribute::defined) != 0;
    CHECK(parse_public(key.encoded()).has_value() == !reserved);
  }
  CHECK((attribute::defined & 0xfff0f009u) == 0);
}

TEST_CASE("tpm structures: algorithms a structure does not know are refused") {
  auto ak = make_ak(key_kind::p256);
  auto& ecc = std::get<ecc_parameters>(ak.area.parameters);
  // The type, the cipher, the scheme and the KDF, where they stand.
  auto whole = ak.encoded();
  for (std::size_t at :
       {std::size_t{0}, std::size_t{10}, std::size_t{12}, std::size_t{18}}) {
    auto other = whole;
    other[at] = 0x7f;
    CHECK_FALSE(parse_public(other));
  }
  // RSA's schemes are no curve's.
  ecc.scheme = {alg::rsassa, alg::sha256};
  CHECK_FALSE(parse_public(ak.encoded()));
  // ECDH signs nothing.
  CHECK_FALSE(parse_signature(from_hex("0019000b").value()));
}

TEST_CASE("tpm structures: over the caps is refused before anything is read") {
  auto key = make_ak(key_kind::p256);
  key.area.auth_policy = bytes(max_public_size - key.encoded().size());
  CHECK(key.encoded().size() == max_public_size);
  CHECK(parse_public(key.encoded()));
  key.area.auth_policy.push_back(0);
  CHECK_FALSE(parse_public(key.encoded()));

  certification c;
  std::size_t extra = 0;
  c.change_attest = [&](attest& a) { a.extra_data = bytes(extra); };
  extra = max_attest_size - c.make().certify_info.size();
  CHECK(parse_attest(c.make().certify_info));
  ++extra;
  CHECK_FALSE(parse_attest(c.make().certify_info));

  signature s{alg::rsassa, alg::sha256, bytes(max_signature_size - 6)};
  CHECK(parse_signature(encode(s)));
  s.rsa.push_back(0);
  CHECK_FALSE(parse_signature(encode(s)));

  // RSA beyond 4096 bits.
  auto rsa = make_ak(key_kind::rsa_2048);
  auto& p = std::get<rsa_parameters>(rsa.area.parameters);
  p.bits = 4096;
  p.modulus = bytes(512, 0xff);
  CHECK(parse_public(rsa.encoded()));
  p.bits = 4097;
  CHECK_FALSE(parse_public(rsa.encoded()));
  p.bits = 4096;
  p.modulus.push_back(0xff);
  CHECK_FALSE(parse_public(rsa.encoded()));
}

TEST_CASE(
    "tpm identity: SPKI and EK hash are those OpenSSL writes (case 114)") {
  for (auto kind : {key_kind::rsa_2048, key_kind::rsa_3072, key_kind::p256,
                    key_kind::p384}) {
    auto ek = make_ek(kind);
    auto theirs = pki::test::openssl_spki(ek.key.get());
    CHECK(spki_of(ek.area) == theirs);
    CHECK(ek_hash(ek.area) == pki::sha256(theirs));
  }
}

TEST_CASE("tpm identity: an EK hash is of the key, not of how it is written") {
  auto ek = make_ek(key_kind::p256);
  auto hash = ek_hash(ek.area);
  auto other = ek.area;
  other.auth_policy = {};
  other.attributes = 0x300f2;
  auto& ecc = std::get<ecc_parameters>(other.parameters);
  ecc.x.insert(ecc.x.begin(), 0);
  CHECK(ek_hash(other) == hash);
  auto rsa = make_ek(key_kind::rsa_2048);
  auto same = rsa.area;
  std::get<rsa_parameters>(same.parameters).exponent = 65537;
  CHECK(ek_hash(same) == ek_hash(rsa.area));
  CHECK(ek_hash(make_ek(key_kind::p256, 1).area) != hash);
}

TEST_CASE("tpm identity: Name and statement by the AK's own hash") {
  auto ak = make_ak(key_kind::p256);
  auto name = ak.name();
  CHECK(name.size() == 34);
  CHECK(to_hex(name).starts_with("000b"));
  CHECK(ak_statement(name) == "urn:bc:tpm-ak:sha256:" + to_hex(name).substr(4));
  CHECK(is_ak_statement(ak_statement(name)));
  ak.area.name_alg = alg::sha384;
  CHECK(ak.name().size() == 50);
  CHECK(ak_statement(ak.name()) ==
        "urn:bc:tpm-ak:sha384:" + to_hex(ak.name()).substr(4));
  ak.area.name_alg = alg::sha1;
  CHECK(ak.name().size() == 22);
  CHECK(ak_statement(ak.name()).empty());
  ak.area.name_alg = alg::null;
  CHECK(ak.name().empty());
  CHECK(ak_statement({}).empty());
  CHECK_FALSE(is_ak_statement("urn:bc:tpm-akx"));
}
