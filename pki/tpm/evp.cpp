#include "pki/tpm/evp.hpp"

#include "pki/tpm/cursor.hpp"

#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/rsa.h>

#include <memory>

namespace bc::pki::tpm {

namespace {

using param_builder =
    std::unique_ptr<OSSL_PARAM_BLD, ossl::deleter<OSSL_PARAM_BLD_free>>;
using params = std::unique_ptr<OSSL_PARAM, ossl::deleter<OSSL_PARAM_free>>;

// Null when OpenSSL will not have the key.
ossl::pkey from_params(const char* type, int selection, OSSL_PARAM* p) {
  ossl::pkey_ctx ctx{EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr)};
  ossl::must(ctx != nullptr && EVP_PKEY_fromdata_init(ctx.get()) == 1,
             "no RSA or no EC");
  EVP_PKEY* key = nullptr;
  if (EVP_PKEY_fromdata(ctx.get(), &key, selection, p) != 1) {
    ossl::drain_errors();
    return nullptr;
  }
  return ossl::pkey{key};
}

ossl::pkey load_rsa(const rsa_parameters& p) {
  auto modulus = significant(p.modulus);
  if (modulus.size() * 8 != p.bits || modulus.empty() ||
      (modulus[0] & 0x80) == 0 || (modulus.back() & 1) == 0 ||
      (p.exponent != 0 && p.exponent != RSA_F4))
    return nullptr;
  ossl::bignum n{
      BN_bin2bn(modulus.data(), static_cast<int>(modulus.size()), nullptr)};
  ossl::bignum e{BN_new()};
  param_builder build{OSSL_PARAM_BLD_new()};
  ossl::must(n != nullptr && e != nullptr &&
                 BN_set_word(e.get(), RSA_F4) == 1 && build != nullptr &&
                 OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N,
                                        n.get()) == 1 &&
                 OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E,
                                        e.get()) == 1,
             "out of memory");
  params all{OSSL_PARAM_BLD_to_param(build.get())};
  ossl::must(all != nullptr, "out of memory");
  return from_params("RSA", EVP_PKEY_PUBLIC_KEY, all.get());
}

OSSL_PARAM group_param(std::uint16_t curve) {
  return OSSL_PARAM_construct_utf8_string(
      OSSL_PKEY_PARAM_GROUP_NAME, const_cast<char*>(curve_name(curve)), 0);
}

}  // namespace

const char* curve_name(std::uint16_t curve) noexcept {
  switch (curve) {
    case curve::p256:
      return "prime256v1";
    case curve::p384:
      return "secp384r1";
    default:
      return nullptr;
  }
}

std::size_t coordinate_size(std::uint16_t curve) noexcept {
  switch (curve) {
    case curve::p256:
      return 32;
    case curve::p384:
      return 48;
    default:
      return 0;
  }
}

bytes sec1_point(const ecc_parameters& p) {
  auto size = coordinate_size(p.curve);
  auto x = padded(p.x, size), y = padded(p.y, size);
  if (size == 0 || x.empty() || y.empty())
    return {};
  bytes out{0x04};
  put(out, x);
  put(out, y);
  return out;
}

ossl::pkey load_public(const public_area& p) {
  if (const auto* rsa = p.rsa())
    return load_rsa(*rsa);
  const auto* ecc = p.ecc();
  if (ecc == nullptr)
    return nullptr;
  auto point = sec1_point(*ecc);
  if (point.empty())
    return nullptr;
  OSSL_PARAM all[] = {group_param(ecc->curve),
                      OSSL_PARAM_construct_octet_string(
                          OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()),
                      OSSL_PARAM_construct_end()};
  return from_params("EC", EVP_PKEY_PUBLIC_KEY, all);
}

ossl::pkey load_private(std::uint16_t curve, byte_view scalar) {
  std::unique_ptr<EC_GROUP, ossl::deleter<EC_GROUP_free>> group{
      EC_GROUP_new_by_curve_name(curve == curve::p384 ? NID_secp384r1
                                                      : NID_X9_62_prime256v1)};
  ossl::bignum number{
      BN_bin2bn(scalar.data(), static_cast<int>(scalar.size()), nullptr)};
  ossl::must(group != nullptr && number != nullptr, "out of memory");
  // Zero and what is not below the order are no keys.
  if (BN_is_zero(number.get()) ||
      BN_cmp(number.get(), EC_GROUP_get0_order(group.get())) >= 0)
    return nullptr;
  BN_set_flags(number.get(), BN_FLG_CONSTTIME);
  ossl::ec_point product{EC_POINT_new(group.get())};
  bytes point(1 + 2 * coordinate_size(curve));
  ossl::must(product != nullptr &&
                 EC_POINT_mul(group.get(), product.get(), number.get(), nullptr,
                              nullptr, nullptr) == 1 &&
                 EC_POINT_point2oct(group.get(), product.get(),
                                    POINT_CONVERSION_UNCOMPRESSED, point.data(),
                                    point.size(), nullptr) == point.size(),
             "a point could not be computed");
  param_builder build{OSSL_PARAM_BLD_new()};
  ossl::must(
      build != nullptr &&
          OSSL_PARAM_BLD_push_utf8_string(build.get(),
                                          OSSL_PKEY_PARAM_GROUP_NAME,
                                          curve_name(curve), 0) == 1 &&
          OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                           point.data(), point.size()) == 1 &&
          OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_PRIV_KEY,
                                 number.get()) == 1,
      "out of memory");
  params all{OSSL_PARAM_BLD_to_param(build.get())};
  ossl::must(all != nullptr, "out of memory");
  return from_params("EC", EVP_PKEY_KEYPAIR, all.get());
}

}  // namespace bc::pki::tpm
