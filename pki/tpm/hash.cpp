#include "pki/tpm/hash.hpp"

#include "pki/ossl.hpp"
#include "pki/tpm/constants.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/evp.hpp"

#include <openssl/core_names.h>
#include <openssl/params.h>

#include <memory>

namespace bc::pki::tpm {

namespace {

using mac_ctx = std::unique_ptr<EVP_MAC_CTX, ossl::deleter<EVP_MAC_CTX_free>>;

constexpr std::uint8_t nul[] = {0};

bytes big_endian(std::uint32_t value) {
  bytes out;
  put_number(out, value, 4);
  return out;
}

}  // namespace

const EVP_MD* evp_hash(std::uint16_t hash_alg) noexcept {
  switch (hash_alg) {
    case alg::sha1:
      return EVP_sha1();
    case alg::sha256:
      return EVP_sha256();
    case alg::sha384:
      return EVP_sha384();
    case alg::sha512:
      return EVP_sha512();
    default:
      return nullptr;
  }
}

std::size_t digest_size(std::uint16_t hash_alg) noexcept {
  const auto* md = evp_hash(hash_alg);
  return md == nullptr ? 0 : static_cast<std::size_t>(EVP_MD_get_size(md));
}

bytes hash(std::uint16_t hash_alg, std::initializer_list<byte_view> parts) {
  const auto* md = evp_hash(hash_alg);
  if (md == nullptr)
    return {};
  ossl::md_ctx ctx{EVP_MD_CTX_new()};
  ossl::must(ctx != nullptr && EVP_DigestInit_ex2(ctx.get(), md, nullptr) == 1,
             "a hash failed");
  for (auto part : parts)
    ossl::must(EVP_DigestUpdate(ctx.get(), part.data(), part.size()) == 1,
               "a hash failed");
  bytes out(digest_size(hash_alg));
  ossl::must(EVP_DigestFinal_ex(ctx.get(), out.data(), nullptr) == 1,
             "a hash failed");
  return out;
}

bytes hmac(std::uint16_t hash_alg, byte_view key,
           std::initializer_list<byte_view> parts) {
  static EVP_MAC* method = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  const auto* md = evp_hash(hash_alg);
  ossl::must(method != nullptr && md != nullptr, "no HMAC");
  mac_ctx ctx{EVP_MAC_CTX_new(method)};
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(
          OSSL_MAC_PARAM_DIGEST, const_cast<char*>(EVP_MD_get0_name(md)), 0),
      OSSL_PARAM_construct_end()};
  ossl::must(ctx != nullptr &&
                 EVP_MAC_init(ctx.get(), key.data(), key.size(), params) == 1,
             "HMAC failed");
  for (auto part : parts)
    ossl::must(EVP_MAC_update(ctx.get(), part.data(), part.size()) == 1,
               "HMAC failed");
  bytes out(digest_size(hash_alg));
  std::size_t size = 0;
  ossl::must(EVP_MAC_final(ctx.get(), out.data(), &size, out.size()) == 1 &&
                 size == out.size(),
             "HMAC failed");
  return out;
}

secret_bytes kdfa(std::uint16_t hash_alg, byte_view key, std::string_view label,
                  byte_view context_u, byte_view context_v, unsigned bits) {
  ossl::must(bits % 8 == 0 && bits / 8 <= digest_size(hash_alg),
             "KDFa for more than one digest");
  auto block = hmac(hash_alg, key,
                    {big_endian(1), as_bytes(label), nul, context_u, context_v,
                     big_endian(bits)});
  secret_bytes out{byte_view{block}.first(bits / 8)};
  wipe(block.data(), block.size());
  return out;
}

secret_bytes kdfe(std::uint16_t hash_alg, byte_view shared_x,
                  std::string_view label, byte_view party_u,
                  byte_view party_v) {
  return secret_bytes{hash(hash_alg, {big_endian(1), shared_x, as_bytes(label),
                                      nul, party_u, party_v})};
}

}  // namespace bc::pki::tpm
