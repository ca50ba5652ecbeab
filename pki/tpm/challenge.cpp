#include "pki/tpm/challenge.hpp"

#include "pki/ossl.hpp"
#include "pki/tpm/cursor.hpp"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <memory>

namespace bc::pki::tpm {

namespace {

constexpr std::string_view secret_info = "bc/join-challenge/v1";
constexpr std::string_view key_info = "bc/join-challenge/key/v1";

using kdf_ctx = std::unique_ptr<EVP_KDF_CTX, ossl::deleter<EVP_KDF_CTX_free>>;

OSSL_PARAM octets(const char* name, byte_view value) {
  return OSSL_PARAM_construct_octet_string(
      name, const_cast<std::uint8_t*>(value.data()), value.size());
}

// HKDF-SHA256 (RFC 5869), 32 bytes.
secret_bytes hkdf(byte_view key, byte_view salt, byte_view info) {
  static EVP_KDF* method = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  ossl::must(method != nullptr, "no HKDF");
  kdf_ctx ctx{EVP_KDF_CTX_new(method)};
  char digest[] = "SHA256";
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      octets(OSSL_KDF_PARAM_KEY, key), octets(OSSL_KDF_PARAM_SALT, salt),
      octets(OSSL_KDF_PARAM_INFO, info), OSSL_PARAM_construct_end()};
  bytes out(32);
  ossl::must(ctx != nullptr &&
                 EVP_KDF_derive(ctx.get(), out.data(), out.size(), params) == 1,
             "HKDF failed");
  return secret_bytes{std::move(out)};
}

challenge_key derive_key(const private_key& join_encryption) {
  static constexpr std::uint8_t no_salt[32] = {};
  auto scalar = join_encryption.scalar();
  return {join_encryption.pub().pin(),
          hkdf(scalar.expose(), no_salt, as_bytes(key_info))};
}

}  // namespace

std::vector<challenge_key> challenge_keys(const key_bundle& bundle) {
  std::vector<challenge_key> out;
  out.push_back(derive_key(bundle.join_encryption));
  // A prepared key counts too: another process may use it already.
  if (auto other = bundle.others.find(key_name::join_encryption);
      other != bundle.others.end())
    out.push_back(derive_key(other->second.key));
  return out;
}

sha256_digest challenge_proof(std::string_view attestor, byte_view nonce) {
  field_hash out;
  out.add("bc-challenge-v1").add(attestor).add(nonce);
  return std::move(out).finish();
}

sha256_digest tpm_evidence(byte_view ek_public, byte_view ak_name,
                           const sha256_digest& claims) {
  field_hash out;
  out.add(ek_public).add(ak_name).add(claims);
  return std::move(out).finish();
}

sha256_digest x509pop_evidence(byte_view leaf) {
  field_hash out;
  out.add(leaf);
  return std::move(out).finish();
}

challenge make_challenge(const challenge_key& key,
                         const std::array<std::uint8_t, 16>& nonce,
                         time_point now) {
  return {key.kid, nonce, now + challenge_lifetime};
}

secret_bytes challenge_secret(const challenge_key& key, const challenge& given,
                              const challenge_subject& about) {
  bytes info;
  put(info, as_bytes(secret_info));
  put(info, as_bytes(about.attestor));
  put_number(info, static_cast<std::uint64_t>(to_millis(given.expires_at)), 8);
  put(info, about.csr_sha256);
  put(info, about.evidence);
  return hkdf(key.key.expose(), given.nonce, info);
}

std::variant<secret_bytes, code> recall_secret(
    std::span<const challenge_key> keys, const challenge& repeated,
    const challenge_subject& about, time_point now) {
  auto key = std::ranges::find(keys, repeated.kid, &challenge_key::kid);
  if (key == keys.end())
    return code::challenge_unknown;
  // The later bound keeps no forger out, who cannot know the secret; it keeps
  // each challenge shorter than the memory of its nonce.
  if (repeated.expires_at <= now ||
      repeated.expires_at > now + challenge_lifetime + challenge_slack)
    return code::challenge_expired;
  return challenge_secret(*key, repeated, about);
}

}  // namespace bc::pki::tpm
