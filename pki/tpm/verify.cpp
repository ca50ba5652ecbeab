#include "pki/tpm/verify.hpp"

#include "pki/der.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/evp.hpp"
#include "pki/tpm/hash.hpp"

#include <openssl/rsa.h>

namespace bc::pki::tpm {

namespace {

bool verify_digest(EVP_PKEY* key, const scheme& by, byte_view encoded,
                   byte_view digest) {
  ossl::pkey_ctx ctx{EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr)};
  ossl::must(ctx != nullptr && EVP_PKEY_verify_init(ctx.get()) == 1,
             "no signatures");
  if (by.algorithm == alg::rsassa)
    ossl::must(
        EVP_PKEY_CTX_set_rsa_padding(ctx.get(), RSA_PKCS1_PADDING) == 1 &&
            EVP_PKEY_CTX_set_signature_md(ctx.get(), evp_hash(by.hash)) == 1,
        "no RSASSA");
  bool good = EVP_PKEY_verify(ctx.get(), encoded.data(), encoded.size(),
                              digest.data(), digest.size()) == 1;
  if (!good)
    ossl::drain_errors();
  return good;
}

}  // namespace

bool verifies(const public_area& key, const signature& s, byte_view message) {
  const auto* rsa = key.rsa();
  const auto* ecc = key.ecc();
  scheme by = rsa != nullptr   ? rsa->scheme
              : ecc != nullptr ? ecc->scheme
                               : scheme{};
  bool one_of_ours =
      by.algorithm == (rsa != nullptr ? alg::rsassa : alg::ecdsa);
  if (!one_of_ours || s.algorithm != by.algorithm || s.hash != by.hash)
    return false;
  auto digest = hash(by.hash, {message});
  auto loaded = load_public(key);
  if (digest.empty() || loaded == nullptr)
    return false;
  bytes encoded;
  if (rsa != nullptr) {
    encoded = padded(s.rsa, rsa->bits / 8u);
  } else {
    auto size = coordinate_size(ecc->curve);
    if (significant(s.r).size() > size || significant(s.s).size() > size)
      return false;
    encoded = der::wrap(der::sequence,
                        {der::write_unsigned(s.r), der::write_unsigned(s.s)});
  }
  return !encoded.empty() && verify_digest(loaded.get(), by, encoded, digest);
}

}  // namespace bc::pki::tpm
