#include "tests/support/soft_tpm.hpp"

#include "pki/digest.hpp"
#include "pki/tpm/cursor.hpp"

#include <catch2/catch.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rsa.h>

#include <map>

namespace bc::testing {

using namespace pki::tpm;

namespace {

const EVP_MD* method_of(std::uint16_t hash_alg) {
  return hash_alg == alg::sha384 ? EVP_sha384() : EVP_sha256();
}

std::size_t size_of(std::uint16_t hash_alg) {
  return hash_alg == alg::sha384 ? 48 : 32;
}

bytes big_number(EVP_PKEY* key, const char* name) {
  BIGNUM* raw = nullptr;
  REQUIRE(EVP_PKEY_get_bn_param(key, name, &raw) == 1);
  bytes out(static_cast<std::size_t>(BN_num_bytes(raw)));
  BN_bn2bin(raw, out.data());
  BN_free(raw);
  return out;
}

void set_unique(public_area& area, EVP_PKEY* key) {
  if (auto* rsa = std::get_if<rsa_parameters>(&area.parameters)) {
    rsa->modulus = big_number(key, OSSL_PKEY_PARAM_RSA_N);
    return;
  }
  auto& ecc = std::get<ecc_parameters>(area.parameters);
  std::size_t width = ecc.curve == curve::p384 ? 48 : 32;
  ecc.x = padded(big_number(key, OSSL_PKEY_PARAM_EC_PUB_X), width);
  ecc.y = padded(big_number(key, OSSL_PKEY_PARAM_EC_PUB_Y), width);
}

// A KDF of OpenSSL's, so that ours is not its own judge.
bytes derive(const char* name, std::vector<OSSL_PARAM> params,
             std::size_t size) {
  params.push_back(OSSL_PARAM_construct_end());
  auto* method = EVP_KDF_fetch(nullptr, name, nullptr);
  auto* ctx = EVP_KDF_CTX_new(method);
  bytes out(size);
  REQUIRE(EVP_KDF_derive(ctx, out.data(), size, params.data()) == 1);
  EVP_KDF_CTX_free(ctx);
  EVP_KDF_free(method);
  return out;
}

OSSL_PARAM octets(const char* name, byte_view value) {
  return OSSL_PARAM_construct_octet_string(
      name, const_cast<std::uint8_t*>(value.data()), value.size());
}

OSSL_PARAM text(const char* name, const char* value) {
  return OSSL_PARAM_construct_utf8_string(name, const_cast<char*>(value), 0);
}

// KDFa is SP 800-108 in counter mode over HMAC.
bytes kdfa_of(std::uint16_t hash_alg, byte_view key, std::string_view label,
              byte_view context, std::size_t size) {
  std::vector<OSSL_PARAM> params{
      text(OSSL_KDF_PARAM_MAC, "HMAC"),
      text(OSSL_KDF_PARAM_DIGEST, EVP_MD_get0_name(method_of(hash_alg))),
      octets(OSSL_KDF_PARAM_KEY, key),
      octets(OSSL_KDF_PARAM_SALT, as_bytes(label))};
  if (!context.empty())
    params.push_back(octets(OSSL_KDF_PARAM_INFO, context));
  return derive("KBKDF", std::move(params), size);
}

// KDFe is the one-step KDF of SP 800-56C over a hash.
bytes kdfe_of(std::uint16_t hash_alg, byte_view shared, byte_view info) {
  return derive(
      "SSKDF",
      {text(OSSL_KDF_PARAM_DIGEST, EVP_MD_get0_name(method_of(hash_alg))),
       octets(OSSL_KDF_PARAM_SECRET, shared),
       octets(OSSL_KDF_PARAM_INFO, info)},
      size_of(hash_alg));
}

const std::string identity_label{"IDENTITY", 9};  // with its NUL

std::optional<bytes> open_rsa_seed(const soft_key& ek, byte_view encrypted) {
  auto* ctx = EVP_PKEY_CTX_new(ek.key.get(), nullptr);
  EVP_PKEY_decrypt_init(ctx);
  EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING);
  EVP_PKEY_CTX_set_rsa_oaep_md(ctx, method_of(ek.area.name_alg));
  EVP_PKEY_CTX_set_rsa_mgf1_md(ctx, method_of(ek.area.name_alg));
  EVP_PKEY_CTX_set0_rsa_oaep_label(ctx,
                                   OPENSSL_memdup(identity_label.data(), 9), 9);
  bytes out(512);
  std::size_t size = out.size();
  bool good = EVP_PKEY_decrypt(ctx, out.data(), &size, encrypted.data(),
                               encrypted.size()) == 1;
  EVP_PKEY_CTX_free(ctx);
  out.resize(size);
  return good ? std::optional{out} : std::nullopt;
}

std::optional<bytes> open_curve_seed(const soft_key& ek, byte_view encrypted) {
  cursor in{encrypted};
  auto x = in.sized(), y = in.sized();
  const auto& own = *ek.area.ecc();
  std::size_t width = own.curve == curve::p384 ? 48 : 32;
  if (!in.done() || x.size() != width || y.size() != width)
    return std::nullopt;
  bytes point{0x04};
  put(point, x);
  put(point, y);
  soft_pkey peer{EVP_PKEY_new(), evp_pkey_free{}};
  EVP_PKEY_copy_parameters(peer.get(), ek.key.get());
  if (EVP_PKEY_set1_encoded_public_key(peer.get(), point.data(),
                                       point.size()) != 1)
    return std::nullopt;
  auto* ctx = EVP_PKEY_CTX_new(ek.key.get(), nullptr);
  bytes shared(width);
  std::size_t size = width;
  bool good = EVP_PKEY_derive_init(ctx) == 1 &&
              EVP_PKEY_derive_set_peer(ctx, peer.get()) == 1 &&
              EVP_PKEY_derive(ctx, shared.data(), &size) == 1;
  EVP_PKEY_CTX_free(ctx);
  if (!good)
    return std::nullopt;
  bytes info = to_bytes(as_bytes(identity_label));
  put(info, x);
  put(info, own.x);
  return kdfe_of(ek.area.name_alg, shared, info);
}

bytes hmac_of(std::uint16_t hash_alg, byte_view key, byte_view message) {
  bytes out(EVP_MAX_MD_SIZE);
  std::size_t size = 0;
  REQUIRE(EVP_Q_mac(nullptr, "HMAC", nullptr,
                    EVP_MD_get0_name(method_of(hash_alg)), nullptr, key.data(),
                    key.size(), message.data(), message.size(), out.data(),
                    out.size(), &size) != nullptr);
  out.resize(size);
  return out;
}

}  // namespace

soft_pkey soft_pkey_of(key_kind kind, int number) {
  static std::map<std::pair<key_kind, int>, soft_pkey> made;
  auto& key = made[{kind, number}];
  if (key != nullptr)
    return key;
  switch (kind) {
    case key_kind::rsa_2048:
      key = {EVP_RSA_gen(2048), evp_pkey_free{}};
      break;
    case key_kind::rsa_3072:
      key = {EVP_RSA_gen(3072), evp_pkey_free{}};
      break;
    case key_kind::p256:
      key = {EVP_EC_gen("P-256"), evp_pkey_free{}};
      break;
    case key_kind::p384:
      key = {EVP_EC_gen("P-384"), evp_pkey_free{}};
  }
  REQUIRE(key != nullptr);
  return key;
}

soft_key make_ek(key_kind kind, int number) {
  soft_key out{soft_pkey_of(kind, number), {}};
  bool large = kind == key_kind::rsa_3072 || kind == key_kind::p384;
  bool rsa = kind == key_kind::rsa_2048 || kind == key_kind::rsa_3072;
  symmetric cipher{alg::aes, static_cast<std::uint16_t>(large ? 256 : 128),
                   alg::cfb};
  auto& area = out.area;
  area.type = rsa ? alg::rsa : alg::ecc;
  area.name_alg = large ? alg::sha384 : alg::sha256;
  area.attributes = 0x300b2;
  area.auth_policy = bytes(large ? 48 : 32, 0x83);
  if (rsa) {
    rsa_parameters p;
    p.symmetric = cipher;
    p.bits = large ? 3072 : 2048;
    area.parameters = p;
  } else {
    ecc_parameters p;
    p.symmetric = cipher;
    p.curve = large ? curve::p384 : curve::p256;
    area.parameters = p;
  }
  set_unique(area, out.key.get());
  return out;
}

soft_key make_ak(key_kind kind, int number) {
  // Other numbers than an EK of the kind has, so that none serves as both.
  soft_key out{soft_pkey_of(kind, 1000 + number), {}};
  auto& area = out.area;
  area.name_alg = alg::sha256;
  area.attributes = 0x50472;
  if (kind == key_kind::rsa_2048 || kind == key_kind::rsa_3072) {
    area.type = alg::rsa;
    rsa_parameters p;
    p.scheme = {alg::rsassa, alg::sha256};
    p.bits = kind == key_kind::rsa_2048 ? 2048 : 3072;
    area.parameters = p;
  } else {
    area.type = alg::ecc;
    ecc_parameters p;
    bool large = kind == key_kind::p384;
    p.scheme = {alg::ecdsa, large ? alg::sha384 : alg::sha256};
    p.curve = large ? curve::p384 : curve::p256;
    area.parameters = p;
  }
  set_unique(area, out.key.get());
  return out;
}

public_area node_key_area(const pki::public_key& key) {
  public_area area;
  area.type = alg::ecc;
  area.name_alg = alg::sha256;
  area.attributes = 0x40472;
  ecc_parameters p;
  p.scheme = {alg::ecdsa, alg::sha256};
  p.curve = curve::p256;
  auto point = byte_view{key.sec1()};
  p.x = to_bytes(point.subspan(1, 32));
  p.y = to_bytes(point.subspan(33, 32));
  area.parameters = std::move(p);
  return area;
}

std::optional<bytes> activate(const soft_key& ek, byte_view object_name,
                              byte_view credential_blob,
                              byte_view encrypted_secret) {
  cursor outer{credential_blob}, sealed{encrypted_secret};
  auto object = outer.sized(), encrypted_seed = sealed.sized();
  if (!outer.done() || !sealed.done())
    return std::nullopt;
  auto seed = ek.area.rsa() != nullptr ? open_rsa_seed(ek, encrypted_seed)
                                       : open_curve_seed(ek, encrypted_seed);
  if (!seed)
    return std::nullopt;
  cursor in{object};
  auto integrity = in.sized(), encrypted = in.rest();
  auto hash_alg = ek.area.name_alg;
  auto mac_key = kdfa_of(hash_alg, *seed, "INTEGRITY", {}, size_of(hash_alg));
  bytes covered = encrypted;
  put(covered, object_name);
  if (hmac_of(hash_alg, mac_key, covered) != integrity)
    return std::nullopt;
  bool large = hash_alg == alg::sha384;
  auto key = kdfa_of(hash_alg, *seed, "STORAGE", object_name, large ? 32 : 16);
  auto* ctx = EVP_CIPHER_CTX_new();
  const std::uint8_t iv[16] = {};
  bytes plain(encrypted.size());
  int size = 0;
  EVP_DecryptInit_ex2(ctx, large ? EVP_aes_256_cfb128() : EVP_aes_128_cfb128(),
                      key.data(), iv, nullptr);
  EVP_DecryptUpdate(ctx, plain.data(), &size, encrypted.data(),
                    static_cast<int>(encrypted.size()));
  EVP_CIPHER_CTX_free(ctx);
  cursor inner{plain};
  auto secret = inner.sized();
  return inner.done() ? std::optional{secret} : std::nullopt;
}

signature sign_with(const soft_key& ak, byte_view message) {
  const auto* rsa = ak.area.rsa();
  auto by = rsa != nullptr ? rsa->scheme : ak.area.ecc()->scheme;
  signature out{by.algorithm, by.hash};
  auto* ctx = EVP_MD_CTX_new();
  bytes raw(600);
  std::size_t size = raw.size();
  REQUIRE(EVP_DigestSignInit(ctx, nullptr, method_of(by.hash), nullptr,
                             ak.key.get()) == 1);
  REQUIRE(EVP_DigestSign(ctx, raw.data(), &size, message.data(),
                         message.size()) == 1);
  EVP_MD_CTX_free(ctx);
  raw.resize(size);
  if (rsa != nullptr) {
    out.rsa = std::move(raw);
    return out;
  }
  const auto* at = raw.data();
  auto* pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size));
  REQUIRE(pair != nullptr);
  int width = ak.area.ecc()->curve == curve::p384 ? 48 : 32;
  out.r.resize(static_cast<std::size_t>(width));
  out.s.resize(static_cast<std::size_t>(width));
  BN_bn2binpad(ECDSA_SIG_get0_r(pair), out.r.data(), width);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair), out.s.data(), width);
  ECDSA_SIG_free(pair);
  return out;
}

key_attestation certification::make() const {
  key_attestation out;
  out.ak_public = ak.encoded();
  out.node_key_public = encode(area);
  attest a;
  a.magic = generated;
  a.type = attest_certify;
  a.qualified_signer = qualified_name_of_primary(hierarchy, ak.name());
  a.extra_data = to_bytes(pki::sha256(csr));
  a.clock_info = bytes(17, 0x11);
  a.firmware_version = 0x2024010100000000;
  a.name = name_of(area, out.node_key_public);
  // Of a child of the storage root; no check reads it.
  a.qualified_name = a.name;
  change_attest(a);
  out.certify_info = encode(a);
  auto s = sign_with(ak, out.certify_info);
  change_signature(s);
  out.signature = encode(s);
  return out;
}

}  // namespace bc::testing
