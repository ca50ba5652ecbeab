#include "pki/key.hpp"

#include "base/encoding.hpp"
#include "pki/der.hpp"
#include "pki/ecdsa.hpp"
#include "pki/oids.hpp"
#include "pki/ossl.hpp"
#include "pki/pem.hpp"

#include <openssl/core_names.h>
#include <openssl/params.h>

#include <algorithm>

namespace bc::pki {

namespace {

constexpr std::string_view pem_label = "PRIVATE KEY";

ossl::pkey_ctx ctx_of(EVP_PKEY* key) {
  ossl::pkey_ctx ctx{EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr)};
  ossl::must(ctx != nullptr, "no P-256");
  return ctx;
}

ossl::pkey from_params(OSSL_PARAM* params, int selection) {
  ossl::pkey_ctx ctx{EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr)};
  EVP_PKEY* key = nullptr;
  ossl::must(ctx != nullptr && EVP_PKEY_fromdata_init(ctx.get()) == 1 &&
                 EVP_PKEY_fromdata(ctx.get(), &key, selection, params) == 1,
             "a P-256 key could not be set up");
  return ossl::pkey{key};
}

OSSL_PARAM group_param() {
  static char name[] = "prime256v1";
  return OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, name, 0);
}

// A key that holds the curve alone; made once and kept for good. Copying it
// and setting the point is 20 times cheaper than decoding a key.
const EVP_PKEY* curve_alone() {
  static const EVP_PKEY* key = [] {
    OSSL_PARAM params[] = {group_param(), OSSL_PARAM_construct_end()};
    return from_params(params, EVP_PKEY_KEY_PARAMETERS).release();
  }();
  return key;
}

// Null when the point is not on the curve.
ossl::pkey load(const point& p) {
  ossl::pkey key{EVP_PKEY_new()};
  ossl::must(
      key != nullptr && EVP_PKEY_copy_parameters(key.get(), curve_alone()) == 1,
      "no P-256");
  if (EVP_PKEY_set1_encoded_public_key(key.get(), p.data(), p.size()) == 1)
    return key;
  ossl::drain_errors();
  return nullptr;
}

bool is_reduced(byte_view coordinate) {
  return std::lexicographical_compare(coordinate.begin(), coordinate.end(),
                                      ecdsa::field_prime.begin(),
                                      ecdsa::field_prime.end());
}

point point_of(EVP_PKEY* key) {
  point out;
  std::size_t size = 0;
  ossl::must(
      EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, out.data(),
                                      out.size(), &size) == 1 &&
          size == out.size() && out[0] == 0x04,
      "a P-256 key has no point");
  return out;
}

point multiply_base(const BIGNUM* scalar) {
  static const EC_GROUP* group =
      EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  ossl::must(group != nullptr, "no P-256");
  ossl::ec_point product{EC_POINT_new(group)};
  point out;
  ossl::must(product != nullptr &&
                 EC_POINT_mul(group, product.get(), scalar, nullptr, nullptr,
                              nullptr) == 1 &&
                 EC_POINT_point2oct(group, product.get(),
                                    POINT_CONVERSION_UNCOMPRESSED, out.data(),
                                    out.size(), nullptr) == out.size(),
             "a P-256 point could not be computed");
  return out;
}

// PrivateKeyInfo of RFC 5208 around ECPrivateKey of RFC 5915, no attributes.
std::optional<secret_bytes> scalar_of_pkcs8(byte_view der, bytes& point_bytes) {
  der::reader top{der};
  auto info = top.take(der::sequence);
  if (!info || !top.at_end())
    return std::nullopt;
  der::reader in{info->content};
  auto version = in.take(der::integer);
  auto algorithm = in.take(der::sequence);
  auto key = in.take(der::octet_string);
  if (!version || !std::ranges::equal(version->content, oids::der_of(0)) ||
      !algorithm ||
      !std::ranges::equal(algorithm->whole, oids::p256_algorithm) || !key ||
      !in.at_end())
    return std::nullopt;
  der::reader inner{key->content};
  auto body = inner.take(der::sequence);
  if (!body || !inner.at_end())
    return std::nullopt;
  der::reader parts{body->content};
  auto inner_version = parts.take(der::integer);
  auto scalar = parts.take(der::octet_string);
  if (!inner_version ||
      !std::ranges::equal(inner_version->content, oids::der_of(1)) || !scalar)
    return std::nullopt;
  if (auto curve = parts.take(der::context(0));
      curve && !std::ranges::equal(curve->content, oids::prime256v1))
    return std::nullopt;
  if (auto tagged = parts.take(der::context(1))) {
    der::reader bits{tagged->content};
    auto string = bits.take(der::bit_string);
    auto octets = string ? der::octets_of_bits(string->content) : std::nullopt;
    if (!octets || !bits.at_end())
      return std::nullopt;
    point_bytes = to_bytes(*octets);
  }
  if (!parts.at_end())
    return std::nullopt;
  return secret_bytes{scalar->content};
}

}  // namespace

result<public_key> public_key::from_point(byte_view sec1) {
  point p;
  if (sec1.size() != p.size() || sec1[0] != 0x04)
    return fail(errc::invalid_input, "not an uncompressed P-256 point");
  if (!is_reduced(sec1.subspan(1, 32)) || !is_reduced(sec1.subspan(33, 32)))
    return fail(errc::invalid_input, "a coordinate is not below the prime");
  std::copy(sec1.begin(), sec1.end(), p.begin());
  if (load(p) == nullptr)
    return fail(errc::invalid_input, "the point is not on P-256");
  return public_key{p};
}

result<public_key> public_key::from_spki(byte_view der) {
  der::reader top{der};
  auto spki = top.take(der::sequence);
  if (!spki || !top.at_end())
    return fail(errc::invalid_input, "not a SubjectPublicKeyInfo in DER");
  der::reader in{spki->content};
  auto algorithm = in.take(der::sequence);
  if (!algorithm || !std::ranges::equal(algorithm->whole, oids::p256_algorithm))
    return fail(errc::invalid_input, "not a P-256 key with a named curve");
  auto bits = in.take(der::bit_string);
  auto octets = bits ? der::octets_of_bits(bits->content) : std::nullopt;
  if (!octets || !in.at_end())
    return fail(errc::invalid_input, "not a SubjectPublicKeyInfo in DER");
  return from_point(*octets);
}

bytes public_key::spki() const {
  return der::wrap(der::sequence,
                   {oids::p256_algorithm, der::write_bits(point_)});
}

sha256_digest public_key::spki_sha256() const {
  return sha256(spki());
}

std::string public_key::pin() const {
  return "sha256/" + to_base64(spki_sha256());
}

bool public_key::verify(const sha256_digest& digest,
                        const raw_signature& signature) const {
  if (!ecdsa::in_range(signature))
    return false;
  auto key = load(point_);
  ossl::must(key != nullptr, "a checked point was refused");
  auto ctx = ctx_of(key.get());
  auto der = ecdsa::to_der(signature);
  ossl::must(EVP_PKEY_verify_init(ctx.get()) == 1, "no ECDSA");
  bool good = EVP_PKEY_verify(ctx.get(), der.data(), der.size(), digest.data(),
                              digest.size()) == 1;
  if (!good)
    ossl::drain_errors();
  return good;
}

bool public_key::verify_der(const sha256_digest& digest,
                            byte_view signature) const {
  auto raw = ecdsa::from_der(signature);
  return raw && verify(digest, *raw);
}

struct private_key::impl {
  ossl::pkey key;
  public_key pub;
};

private_key::private_key(std::unique_ptr<impl> i) : impl_(std::move(i)) {}
private_key::private_key(private_key&&) noexcept = default;
private_key& private_key::operator=(private_key&&) noexcept = default;
private_key::~private_key() = default;

private_key private_key::generate() {
  ossl::pkey key{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")};
  ossl::must(key != nullptr, "a P-256 key could not be generated");
  auto p = point_of(key.get());
  return private_key{
      std::make_unique<impl>(impl{std::move(key), public_key{p}})};
}

result<private_key> private_key::from_scalar(byte_view scalar) {
  if (!ecdsa::is_scalar(scalar))
    return fail(errc::invalid_input, "not a P-256 private key");
  ossl::bignum number{BN_bin2bn(scalar.data(), 32, nullptr)};
  ossl::must(number != nullptr, "out of memory");
  BN_set_flags(number.get(), BN_FLG_CONSTTIME);
  auto p = multiply_base(number.get());
  std::array<std::uint8_t, 32> native;
  ossl::must(BN_bn2nativepad(number.get(), native.data(), 32) == 32,
             "out of memory");
  OSSL_PARAM params[] = {group_param(),
                         OSSL_PARAM_construct_octet_string(
                             OSSL_PKEY_PARAM_PUB_KEY, p.data(), p.size()),
                         OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY,
                                                 native.data(), native.size()),
                         OSSL_PARAM_construct_end()};
  auto key = from_params(params, EVP_PKEY_KEYPAIR);
  wipe(native.data(), native.size());
  return private_key{
      std::make_unique<impl>(impl{std::move(key), public_key{p}})};
}

result<private_key> private_key::from_pkcs8_pem(std::string_view pem) {
  BC_TRY(der, pem::decode(pem_label, pem));
  bytes point_bytes;
  auto scalar = scalar_of_pkcs8(der.expose(), point_bytes);
  if (!scalar)
    return fail(errc::invalid_input, "not a P-256 key in PKCS#8");
  BC_TRY(key, from_scalar(scalar->expose()));
  if (!point_bytes.empty() &&
      !std::ranges::equal(point_bytes, key.pub().sec1()))
    return fail(errc::invalid_input, "the two halves of the key differ");
  return std::move(key);
}

const public_key& private_key::pub() const noexcept {
  return impl_->pub;
}

secret_bytes private_key::scalar() const {
  BIGNUM* raw = nullptr;
  ossl::must(EVP_PKEY_get_bn_param(impl_->key.get(), OSSL_PKEY_PARAM_PRIV_KEY,
                                   &raw) == 1,
             "a P-256 key has no scalar");
  ossl::bignum number{raw};
  bytes out(32);
  ossl::must(BN_bn2binpad(number.get(), out.data(), 32) == 32,
             "a P-256 scalar is too long");
  return secret_bytes{std::move(out)};
}

secret_bytes private_key::pkcs8_pem() const {
  auto number = scalar();
  auto point_bits = der::write_bits(pub().sec1());
  secret_bytes octets{der::wrap(der::octet_string, {number.expose()})};
  secret_bytes body{
      der::wrap(der::sequence, {oids::der_of(2, 1, 1), octets.expose(),
                                der::wrap(der::context(1), {point_bits})})};
  secret_bytes key{der::wrap(der::octet_string, {body.expose()})};
  secret_bytes info{
      der::wrap(der::sequence,
                {oids::der_of(2, 1, 0), oids::p256_algorithm, key.expose()})};
  return pem::encode(pem_label, info.expose());
}

bytes private_key::sign_der(const sha256_digest& digest) const {
  return ecdsa::to_der(sign(digest));
}

raw_signature private_key::sign(const sha256_digest& digest) const {
  auto ctx = ctx_of(impl_->key.get());
  std::array<std::uint8_t, 80> out;
  std::size_t size = out.size();
  ossl::must(EVP_PKEY_sign_init(ctx.get()) == 1 &&
                 EVP_PKEY_sign(ctx.get(), out.data(), &size, digest.data(),
                               digest.size()) == 1,
             "ECDSA signing failed");
  auto raw = ecdsa::from_der(byte_view{out}.first(size));
  ossl::must(raw.has_value(), "ECDSA signing gave no signature");
  return *raw;
}

secret_bytes private_key::ecdh(const public_key& peer) const {
  auto other = load(peer.sec1());
  ossl::must(other != nullptr, "a checked point was refused");
  auto ctx = ctx_of(impl_->key.get());
  bytes out(32);
  std::size_t size = out.size();
  // The point was checked when it was loaded and the cofactor is 1, so the
  // second validation (which doubles the cost) is left out.
  ossl::must(EVP_PKEY_derive_init(ctx.get()) == 1 &&
                 EVP_PKEY_derive_set_peer_ex(ctx.get(), other.get(), 0) == 1 &&
                 EVP_PKEY_derive(ctx.get(), out.data(), &size) == 1 &&
                 size == out.size(),
             "ECDH failed");
  return secret_bytes{std::move(out)};
}

private_key private_key::clone() const {
  ossl::must(EVP_PKEY_up_ref(impl_->key.get()) == 1, "out of memory");
  return private_key{
      std::make_unique<impl>(impl{ossl::pkey{impl_->key.get()}, impl_->pub})};
}

bool is_pin(std::string_view text) {
  constexpr std::string_view scheme = "sha256/";
  if (text.size() != scheme.size() + 44 || !text.starts_with(scheme))
    return false;
  auto digest = from_base64(text.substr(scheme.size()));
  return digest.has_value() && digest.value().size() == 32;
}

}  // namespace bc::pki
