#include "pki/jwe.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/aead.hpp"
#include "pki/ossl.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace bc::pki {

namespace {

constexpr std::string_view algorithm = "ECDH-ES+A256KW";
constexpr std::string_view encryption = "A256GCM";
constexpr std::string_view seal_type = "bcjt+jwe";
constexpr std::size_t wrapped_size = 40;  // RFC 3394: 8 bytes over the key

const EVP_CIPHER* wrap_cipher() {
  static const EVP_CIPHER* cipher =
      EVP_CIPHER_fetch(nullptr, "AES-256-WRAP", nullptr);
  ossl::must(cipher != nullptr, "no AES-256-WRAP");
  return cipher;
}

ossl::cipher_ctx wrap_ctx() {
  ossl::cipher_ctx ctx{EVP_CIPHER_CTX_new()};
  ossl::must(ctx != nullptr, "out of memory");
  EVP_CIPHER_CTX_set_flags(ctx.get(), EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
  return ctx;
}

bytes wrap_key(const secret_bytes& kek, byte_view content_key) {
  auto ctx = wrap_ctx();
  bytes out(wrapped_size + 8);
  int size = 0;
  ossl::must(
      content_key.size() == aead::key_size &&
          EVP_EncryptInit_ex2(ctx.get(), wrap_cipher(), kek.expose().data(),
                              nullptr, nullptr) == 1 &&
          EVP_EncryptUpdate(ctx.get(), out.data(), &size, content_key.data(),
                            static_cast<int>(content_key.size())) == 1 &&
          size == static_cast<int>(wrapped_size),
      "AES key wrap failed");
  out.resize(wrapped_size);
  return out;
}

std::optional<secret_bytes> unwrap_key(const secret_bytes& kek,
                                       byte_view wrapped) {
  auto ctx = wrap_ctx();
  bytes out(wrapped_size + 8);
  int size = 0;
  ossl::must(EVP_DecryptInit_ex2(ctx.get(), wrap_cipher(), kek.expose().data(),
                                 nullptr, nullptr) == 1,
             "AES key wrap failed");
  bool good = EVP_DecryptUpdate(ctx.get(), out.data(), &size, wrapped.data(),
                                static_cast<int>(wrapped.size())) == 1 &&
              size == static_cast<int>(aead::key_size);
  // Holds what was written, good or not, and wipes it.
  secret_bytes whole{std::move(out)};
  if (!good) {
    ossl::drain_errors();
    return std::nullopt;
  }
  return secret_bytes{whole.expose().first(aead::key_size)};
}

std::string protected_header(const public_key& ephemeral,
                             const seal_binding& made_for, time_point now) {
  json::writer out;
  out.begin_object()
      .field("alg", algorithm)
      .field("enc", encryption)
      .key("epk")
      .raw(to_jwk(ephemeral))
      .field("typ", seal_type)
      .field("iat", std::chrono::floor<seconds>(now).time_since_epoch().count())
      .field("csr", to_base64url(made_for.csr_sha256));
  if (made_for.claims)
    out.field("claims", to_base64url(*made_for.claims));
  return out.end_object().str();
}

// One answer for all faults; which it was is for the server's log.
fault bad(std::string detail) {
  return fail(errc::invalid_input, "the sealed token cannot be opened", {},
              std::move(detail));
}

std::optional<std::string_view> text_of(const json::value& object,
                                        const char* name) {
  auto found = object.FindMember(name);
  if (found == object.MemberEnd() || !found->value.IsString())
    return std::nullopt;
  return std::string_view{found->value.GetString(),
                          found->value.GetStringLength()};
}

result<public_key> key_of_jwk(const json::value& jwk) {
  if (text_of(jwk, "kty") != "EC" || text_of(jwk, "crv") != "P-256")
    return fail(errc::invalid_input, "not a JWK of an EC P-256 key");
  if (jwk.HasMember("d"))
    return fail(errc::invalid_input, "the JWK holds a private key");
  bytes sec1{0x04};
  for (const char* name : {"x", "y"}) {
    auto text = text_of(jwk, name);
    if (!text)
      return fail(errc::invalid_input,
                  std::string{"the JWK has no coordinate "} + name);
    auto coordinate = from_base64url(*text);
    if (!coordinate)
      return fail(errc::invalid_input,
                  std::string{"the coordinate "} + name + " is not base64url");
    if (coordinate.value().size() != 32)
      return fail(errc::invalid_input, std::string{"coordinate length: "} +
                                           name + " must be 32 bytes");
    sec1.insert(sec1.end(), coordinate.value().begin(),
                coordinate.value().end());
  }
  return public_key::from_point(sec1);
}

// What is cheap is checked first; the point of `epk` comes last.
result<public_key> check_header(std::string_view text,
                                const seal_binding& asked_for, time_point now) {
  auto document = json::parse_object(text);
  if (!document)
    return bad("the header is not a JSON object");
  const json::value& header = document.value();
  if (text_of(header, "alg") != algorithm)
    return bad("alg is not ECDH-ES+A256KW");
  if (text_of(header, "enc") != encryption)
    return bad("enc is not A256GCM");
  if (text_of(header, "typ") != seal_type)
    return bad("typ is not bcjt+jwe");
  auto iat = header.FindMember("iat");
  if (iat == header.MemberEnd() || !iat->value.IsInt64())
    return bad("iat is not an integer");
  auto seconds_now = std::chrono::floor<seconds>(now).time_since_epoch();
  if (iat->value.GetInt64() < (seconds_now - seal_window).count() ||
      iat->value.GetInt64() > (seconds_now + seal_window).count())
    return bad("iat is out of the window");
  if (text_of(header, "csr") != to_base64url(asked_for.csr_sha256))
    return bad("csr is another request's");
  const bool binds_claims = header.HasMember("claims");
  if (binds_claims &&
      (!asked_for.claims ||
       text_of(header, "claims") != to_base64url(*asked_for.claims)))
    return bad("claims are another request's");
  auto epk = header.FindMember("epk");
  if (epk == header.MemberEnd() || !epk->value.IsObject())
    return bad("epk is not an object");
  // All six are there, so one more is one that we do not know.
  if (header.MemberCount() != (binds_claims ? 7 : 6))
    return bad("the header has another parameter");
  if (epk->value.MemberCount() > 4)
    return bad("epk has another member");
  auto key = key_of_jwk(epk->value);
  if (!key)
    return bad("epk: " + key.error().message);
  return key;
}

std::optional<std::vector<std::string_view>> five_parts(
    std::string_view compact) {
  std::vector<std::string_view> out;
  while (out.size() < 5) {
    auto dot = compact.find('.');
    out.push_back(compact.substr(0, dot));
    if (dot == compact.npos)
      break;
    compact.remove_prefix(dot + 1);
    if (out.size() == 5)
      return std::nullopt;
  }
  if (out.size() != 5)
    return std::nullopt;
  return out;
}

}  // namespace

std::string seal_token(const public_key& recipient, std::string_view token,
                       const seal_binding& made_for, time_point now) {
  auto content_key = random_secret(aead::key_size);
  return seal_token_with(recipient, private_key::generate(),
                         content_key.expose(), random_bytes(aead::iv_size),
                         token, made_for, now);
}

std::string seal_token_with(const public_key& recipient,
                            const private_key& ephemeral, byte_view content_key,
                            byte_view iv, std::string_view token,
                            const seal_binding& made_for, time_point now) {
  auto header =
      to_base64url(as_bytes(protected_header(ephemeral.pub(), made_for, now)));
  auto kek = derive_kek(ephemeral.ecdh(recipient));
  auto sealed = aead::seal(content_key, iv, as_bytes(header), as_bytes(token));
  return header + '.' + to_base64url(wrap_key(kek, content_key)) + '.' +
         to_base64url(iv) + '.' + to_base64url(sealed.ciphertext) + '.' +
         to_base64url(sealed.tag);
}

result<secret_bytes> open_seal(const private_key& recipient,
                               std::string_view compact,
                               const seal_binding& asked_for, time_point now) {
  if (compact.size() > max_seal_size)
    return bad("it is over 4096 bytes");
  auto parts = five_parts(compact);
  if (!parts)
    return bad("it is not five parts");
  std::vector<bytes> decoded;
  for (auto part : *parts) {
    auto octets = from_base64url(part);
    if (!octets)
      return bad("a part is not base64url");
    decoded.push_back(std::move(octets.value()));
  }
  const auto& [header, wrapped, iv, ciphertext, tag] =
      std::tie(decoded[0], decoded[1], decoded[2], decoded[3], decoded[4]);
  if (wrapped.size() != wrapped_size)
    return bad("the encrypted key is not 40 bytes");
  if (iv.size() != aead::iv_size)
    return bad("the IV is not 12 bytes");
  if (tag.size() != aead::tag_size)
    return bad("the tag is not 16 bytes");
  BC_TRY(ephemeral, check_header(as_text(header), asked_for, now));
  auto content_key = unwrap_key(derive_kek(recipient.ecdh(ephemeral)), wrapped);
  if (!content_key)
    return bad("the key does not unwrap");
  auto token = aead::open(content_key->expose(), iv, as_bytes((*parts)[0]),
                          ciphertext, tag);
  if (!token)
    return bad("the tag does not fit");
  return std::move(*token);
}

std::string to_jwk(const public_key& key) {
  byte_view both = byte_view{key.sec1()}.subspan(1);
  json::writer out;
  out.begin_object()
      .field("kty", "EC")
      .field("crv", "P-256")
      .field("x", to_base64url(both.first(32)))
      .field("y", to_base64url(both.last(32)))
      .end_object();
  return out.str();
}

result<public_key> from_jwk(std::string_view json) {
  BC_TRY(document, json::parse_object(json));
  return key_of_jwk(document);
}

secret_bytes derive_kek(const secret_bytes& shared_x) {
  // One round: counter, Z, then OtherInfo (RFC 7518 section 4.6.2): the
  // algorithm with its length, no apu, no apv, 256 bits.
  bytes input{0, 0, 0, 1};
  input.reserve(4 + shared_x.size() + algorithm.size() + 16);
  auto append = [&](byte_view part) {
    input.insert(input.end(), part.begin(), part.end());
  };
  append(shared_x.expose());
  append(bytes{0, 0, 0, static_cast<std::uint8_t>(algorithm.size())});
  append(as_bytes(algorithm));
  append(bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
  secret_bytes whole{std::move(input)};
  auto digest = sha256(whole.expose());
  secret_bytes out{byte_view{digest}};
  wipe(digest.data(), digest.size());
  return out;
}

}  // namespace bc::pki
