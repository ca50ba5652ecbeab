#pragma once

#include "pki/aead.hpp"
#include "pki/jwe.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

#include <sstream>

/// Seals with one thing wrong, and what open_seal says of them.
namespace bc::pki::test {

inline const std::string token = "bcjt_jt_01k5w0000000000000000000ab.c2VjcmV0";
inline const sha256_digest csr_a = sha256(as_bytes("request A"));
inline const sha256_digest csr_b = sha256(as_bytes("request B"));
inline constexpr std::string_view a3_recipient =
    "fa4f153be43bb4a8c52aacf97790d4db092afa11c19eea2d4aac9c539c972624";

inline private_key& recipient() {
  static auto key = key_of(a3_recipient);
  return key;
}

inline std::int64_t unix_noon() {
  return to_millis(noon) / 1000;
}

inline bytes openssl_wrap(byte_view kek, byte_view key) {
  std::unique_ptr<EVP_CIPHER_CTX, release_with<EVP_CIPHER_CTX_free>> ctx{
      EVP_CIPHER_CTX_new()};
  EVP_CIPHER_CTX_set_flags(ctx.get(), EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
  bytes out(64);
  int size = 0;
  REQUIRE(EVP_EncryptInit_ex(ctx.get(), EVP_aes_256_wrap(), nullptr, kek.data(),
                             nullptr) == 1);
  REQUIRE(EVP_EncryptUpdate(ctx.get(), out.data(), &size, key.data(),
                            static_cast<int>(key.size())) == 1);
  out.resize(static_cast<std::size_t>(size));
  return out;
}

// A seal with any header, correct in all else, so that a refusal can have no
// other cause.
struct craft {
  private_key ephemeral = private_key::generate();
  std::string alg = R"("ECDH-ES+A256KW")", enc = R"("A256GCM")";
  std::string typ = R"("bcjt+jwe")", epk = to_jwk(ephemeral.pub());
  std::string iat = std::to_string(unix_noon());
  std::string csr = '"' + to_base64url(csr_a) + '"';
  std::string extra;

  [[nodiscard]] std::string header() const {
    std::string out;
    auto add = [&](std::string_view name, const std::string& value) {
      if (value.empty())
        return;
      out += out.empty() ? "{" : ",";
      out += '"' + std::string{name} + "\":" + value;
    };
    add("alg", alg);
    add("enc", enc);
    add("epk", epk);
    add("typ", typ);
    add("iat", iat);
    add("csr", csr);
    return out + extra + "}";
  }
  [[nodiscard]] std::string seal(std::string_view plaintext = token) const {
    auto head = to_base64url(as_bytes(header()));
    auto kek = derive_kek(ephemeral.ecdh(recipient().pub()));
    bytes cek(32, 7), iv(12, 9);
    auto sealed = aead::seal(cek, iv, as_bytes(head), as_bytes(plaintext));
    return head + '.' + to_base64url(openssl_wrap(kek.expose(), cek)) + '.' +
           to_base64url(iv) + '.' + to_base64url(sealed.ciphertext) + '.' +
           to_base64url(sealed.tag);
  }
};

// The reason for which the seal is refused; empty when it opens.
inline std::string refusal(std::string_view seal,
                           const sha256_digest& csr = csr_a) {
  auto opened = open_seal(recipient(), seal, csr, noon);
  if (opened)
    return opened.value().expose_text() == token ? "" : "another token";
  CHECK(opened.error().code == errc::invalid_input);
  CHECK(opened.error().message == "the sealed token cannot be opened");
  return opened.error().detail;
}

inline std::vector<std::string> split(const std::string& compact) {
  std::vector<std::string> out;
  std::istringstream in{compact};
  for (std::string part; std::getline(in, part, '.');)
    out.push_back(part);
  return out;
}

inline std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts)
    out += (&part == parts.data() ? "" : ".") + part;
  return out;
}

inline std::string jwk_of(std::string_view x, std::string_view y) {
  return R"({"kty":"EC","crv":"P-256","x":")" + std::string{x} + R"(","y":")" +
         std::string{y} + "\"}";
}

inline std::string jwk_of_point(byte_view sec1) {
  return jwk_of(to_base64url(sec1.subspan(1, 32)),
                to_base64url(sec1.subspan(33)));
}

}  // namespace bc::pki::test
