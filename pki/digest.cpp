#include "pki/digest.hpp"

#include "pki/ossl.hpp"

#include <cerrno>
#include <sys/random.h>

namespace bc::pki {

namespace {

// Fetched once and kept for good: fetching costs as much as a short hash.
const EVP_MD* sha256_method() {
  static const EVP_MD* method = EVP_MD_fetch(nullptr, "SHA2-256", nullptr);
  ossl::must(method != nullptr, "no SHA-256");
  return method;
}

EVP_MD_CTX* as_ctx(void* p) {
  return static_cast<EVP_MD_CTX*>(p);
}

void fill_random(std::uint8_t* out, std::size_t size) {
  while (size > 0) {
    auto got = ::getrandom(out, size, 0);
    if (got < 0 && errno == EINTR)
      continue;
    ossl::must(got > 0, "the system's random generator failed");
    out += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace

sha256_digest sha256(byte_view data) {
  sha256_digest out;
  unsigned size = 0;
  ossl::must(EVP_Digest(data.data(), data.size(), out.data(), &size,
                        sha256_method(), nullptr) == 1 &&
                 size == out.size(),
             "SHA-256 failed");
  return out;
}

field_hash::field_hash() : ctx_(EVP_MD_CTX_new()) {
  ossl::must(
      ctx_ != nullptr &&
          EVP_DigestInit_ex2(as_ctx(ctx_), sha256_method(), nullptr) == 1,
      "SHA-256 failed");
}

field_hash::~field_hash() {
  EVP_MD_CTX_free(as_ctx(ctx_));
}

field_hash& field_hash::add(byte_view field) {
  std::array<std::uint8_t, 8> length;
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<std::uint8_t>(
        static_cast<std::uint64_t>(field.size()) >> (8 * (7 - i)));
  ossl::must(
      EVP_DigestUpdate(as_ctx(ctx_), length.data(), length.size()) == 1 &&
          EVP_DigestUpdate(as_ctx(ctx_), field.data(), field.size()) == 1,
      "SHA-256 failed");
  return *this;
}

sha256_digest field_hash::finish() && {
  sha256_digest out;
  unsigned size = 0;
  ossl::must(EVP_DigestFinal_ex(as_ctx(ctx_), out.data(), &size) == 1 &&
                 size == out.size(),
             "SHA-256 failed");
  return out;
}

bytes random_bytes(std::size_t size) {
  bytes out(size);
  fill_random(out.data(), out.size());
  return out;
}

secret_bytes random_secret(std::size_t size) {
  return secret_bytes{random_bytes(size)};
}

std::array<std::uint8_t, 10> random_id_bytes() {
  std::array<std::uint8_t, 10> out;
  fill_random(out.data(), out.size());
  return out;
}

}  // namespace bc::pki
