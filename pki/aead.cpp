#include "pki/aead.hpp"

#include "pki/ossl.hpp"

namespace bc::pki::aead {

namespace {

const EVP_CIPHER* gcm() {
  static const EVP_CIPHER* cipher =
      EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  ossl::must(cipher != nullptr, "no AES-256-GCM");
  return cipher;
}

int as_int(std::size_t size) {
  return static_cast<int>(size);
}

}  // namespace

sealed seal(byte_view key, byte_view iv, byte_view aad, byte_view plaintext) {
  ossl::must(key.size() == key_size && iv.size() == iv_size,
             "AES-256-GCM with a key or IV of the wrong size");
  ossl::cipher_ctx ctx{EVP_CIPHER_CTX_new()};
  sealed out{bytes(plaintext.size()), bytes(tag_size)};
  int size = 0;
  ossl::must(
      ctx != nullptr &&
          EVP_EncryptInit_ex2(ctx.get(), gcm(), key.data(), iv.data(),
                              nullptr) == 1 &&
          EVP_EncryptUpdate(ctx.get(), nullptr, &size, aad.data(),
                            as_int(aad.size())) == 1 &&
          EVP_EncryptUpdate(ctx.get(), out.ciphertext.data(), &size,
                            plaintext.data(), as_int(plaintext.size())) == 1 &&
          EVP_EncryptFinal_ex(ctx.get(), nullptr, &size) == 1 &&
          EVP_CIPHER_CTX_ctrl(ctx.get(), EVP_CTRL_AEAD_GET_TAG,
                              as_int(tag_size), out.tag.data()) == 1,
      "AES-256-GCM failed");
  return out;
}

std::optional<secret_bytes> open(byte_view key, byte_view iv, byte_view aad,
                                 byte_view ciphertext, byte_view tag) {
  if (key.size() != key_size || iv.size() != iv_size || tag.size() != tag_size)
    return std::nullopt;
  ossl::cipher_ctx ctx{EVP_CIPHER_CTX_new()};
  bytes plain(ciphertext.size());
  auto expected = to_bytes(tag);
  int size = 0;
  ossl::must(
      ctx != nullptr &&
          EVP_DecryptInit_ex2(ctx.get(), gcm(), key.data(), iv.data(),
                              nullptr) == 1 &&
          EVP_DecryptUpdate(ctx.get(), nullptr, &size, aad.data(),
                            as_int(aad.size())) == 1 &&
          EVP_DecryptUpdate(ctx.get(), plain.data(), &size, ciphertext.data(),
                            as_int(ciphertext.size())) == 1 &&
          EVP_CIPHER_CTX_ctrl(ctx.get(), EVP_CTRL_AEAD_SET_TAG,
                              as_int(tag_size), expected.data()) == 1,
      "AES-256-GCM failed");
  // Unauthenticated text is wiped with the vector it stands in.
  secret_bytes out{std::move(plain)};
  if (EVP_DecryptFinal_ex(ctx.get(), nullptr, &size) != 1) {
    ossl::drain_errors();
    return std::nullopt;
  }
  return out;
}

}  // namespace bc::pki::aead
