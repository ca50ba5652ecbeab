#include "pki/tpm/credential.hpp"

#include "pki/digest.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/evp.hpp"
#include "pki/tpm/hash.hpp"
#include "pki/tpm/key_rules.hpp"

#include <openssl/rsa.h>

#include <optional>

namespace bc::pki::tpm {

namespace {

constexpr char identity[] = "IDENTITY";  // its NUL belongs to it

ossl::pkey_ctx ctx_of(EVP_PKEY* key) {
  ossl::pkey_ctx ctx{EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr)};
  ossl::must(ctx != nullptr, "out of memory");
  return ctx;
}

struct sealed_seed {
  secret_bytes seed;
  bytes encrypted;  // what TPM2B_ENCRYPTED_SECRET holds
};

sealed_seed seal_for_rsa(EVP_PKEY* ek, std::uint16_t hash_alg,
                         byte_view random) {
  auto ctx = ctx_of(ek);
  auto* label = static_cast<char*>(OPENSSL_memdup(identity, sizeof identity));
  const auto* md = evp_hash(hash_alg);
  ossl::must(label != nullptr && EVP_PKEY_encrypt_init(ctx.get()) == 1 &&
                 EVP_PKEY_CTX_set_rsa_padding(ctx.get(),
                                              RSA_PKCS1_OAEP_PADDING) == 1 &&
                 EVP_PKEY_CTX_set_rsa_oaep_md(ctx.get(), md) == 1 &&
                 EVP_PKEY_CTX_set_rsa_mgf1_md(ctx.get(), md) == 1 &&
                 EVP_PKEY_CTX_set0_rsa_oaep_label(ctx.get(), label,
                                                  sizeof identity) == 1,
             "no RSA-OAEP");
  bytes out(static_cast<std::size_t>(EVP_PKEY_get_size(ek)));
  std::size_t size = out.size();
  ossl::must(EVP_PKEY_encrypt(ctx.get(), out.data(), &size, random.data(),
                              random.size()) == 1,
             "RSA-OAEP failed");
  out.resize(size);
  return {secret_bytes{random}, std::move(out)};
}

// x, y of a key we made.
bytes own_point(EVP_PKEY* key, std::size_t coordinate) {
  bytes out(1 + 2 * coordinate);
  std::size_t size = 0;
  ossl::must(EVP_PKEY_get_octet_string_param(key, "pub", out.data(), out.size(),
                                             &size) == 1 &&
                 size == out.size() && out[0] == 0x04,
             "a key has no point");
  out.erase(out.begin());
  return out;
}

std::optional<sealed_seed> seal_for_curve(EVP_PKEY* ek, const ecc_parameters& p,
                                          std::uint16_t hash_alg,
                                          byte_view random) {
  auto ephemeral = random.empty()
                       ? ossl::pkey{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC",
                                                      curve_name(p.curve))}
                       : load_private(p.curve, random);
  if (ephemeral == nullptr)
    return std::nullopt;
  auto size = coordinate_size(p.curve);
  auto ctx = ctx_of(ephemeral.get());
  bytes shared(size);
  std::size_t got = size;
  ossl::must(EVP_PKEY_derive_init(ctx.get()) == 1 &&
                 EVP_PKEY_derive_set_peer(ctx.get(), ek) == 1 &&
                 EVP_PKEY_derive(ctx.get(), shared.data(), &got) == 1 &&
                 got == size,
             "ECDH failed");
  auto point = own_point(ephemeral.get(), size);
  auto x = byte_view{point}.first(size), y = byte_view{point}.subspan(size);
  sealed_seed out;
  // The TPM takes its own x from its public area, as it stands there.
  out.seed = kdfe(hash_alg, shared, identity, x, p.x);
  wipe(shared.data(), shared.size());
  put_sized(out.encrypted, x);
  put_sized(out.encrypted, y);
  return out;
}

enum class direction { open = 0, seal = 1 };

bytes aes_cfb(direction way, unsigned bits, byte_view key, byte_view in) {
  const auto* cipher =
      bits == 128 ? EVP_aes_128_cfb128() : EVP_aes_256_cfb128();
  ossl::cipher_ctx ctx{EVP_CIPHER_CTX_new()};
  const std::uint8_t zero_iv[16] = {};
  bytes out(in.size());
  int size = 0;
  ossl::must(ctx != nullptr &&
                 EVP_CipherInit_ex2(ctx.get(), cipher, key.data(), zero_iv,
                                    static_cast<int>(way), nullptr) == 1 &&
                 EVP_CipherUpdate(ctx.get(), out.data(), &size, in.data(),
                                  static_cast<int>(in.size())) == 1 &&
                 static_cast<std::size_t>(size) == out.size(),
             "AES-CFB failed");
  return out;
}

bytes id_object(std::uint16_t hash_alg, unsigned cipher_bits, byte_view seed,
                byte_view name, byte_view secret) {
  auto key = kdfa(hash_alg, seed, "STORAGE", name, {}, cipher_bits);
  auto mac_key = kdfa(hash_alg, seed, "INTEGRITY", {}, {},
                      static_cast<unsigned>(digest_size(hash_alg) * 8));
  bytes plain;
  put_sized(plain, secret);
  auto encrypted = aes_cfb(direction::seal, cipher_bits, key.expose(), plain);
  wipe(plain.data(), plain.size());
  bytes inner;
  put_sized(inner, hmac(hash_alg, mac_key.expose(), {encrypted, name}));
  // Its length is inside the encryption, so none goes before it.
  put(inner, encrypted);
  bytes out;
  put_sized(out, inner);
  return out;
}

}  // namespace

result<credential> make_credential(const public_area& ek, byte_view object_name,
                                   byte_view secret) {
  if (ek.rsa() == nullptr)
    return make_credential_with(ek, object_name, secret, {});
  auto seed = random_secret(digest_size(ek.name_alg));
  return make_credential_with(ek, object_name, secret, seed.expose());
}

result<credential> make_credential_with(const public_area& ek,
                                        byte_view object_name, byte_view secret,
                                        byte_view random) {
  if (check_ek(ek))
    return fail(errc::invalid_input, "not an EK that we make credentials for");
  auto key = load_public(ek);
  ossl::must(key != nullptr, "a checked EK was refused");
  auto digest = digest_size(ek.name_alg);
  if (secret.size() > digest)
    return fail(errc::invalid_input, "the secret is longer than a digest");
  std::optional<sealed_seed> sealed;
  unsigned cipher_bits = 0;
  if (const auto* rsa = ek.rsa()) {
    if (random.size() != digest)
      return fail(errc::invalid_input, "the seed is not of a digest's size");
    cipher_bits = rsa->symmetric.bits;
    sealed = seal_for_rsa(key.get(), ek.name_alg, random);
  } else {
    cipher_bits = ek.ecc()->symmetric.bits;
    sealed = seal_for_curve(key.get(), *ek.ecc(), ek.name_alg, random);
  }
  if (!sealed)
    return fail(errc::invalid_input, "not a private key of the EK's curve");
  credential out;
  out.blob = id_object(ek.name_alg, cipher_bits, sealed->seed.expose(),
                       object_name, secret);
  put_sized(out.encrypted_secret, sealed->encrypted);
  return out;
}

std::optional<secret_bytes> open_credential(const public_area& ek,
                                            const private_key& key,
                                            byte_view object_name,
                                            const credential& sealed) {
  const auto* own = ek.ecc();
  if (own == nullptr || own->curve != curve::p256)
    return std::nullopt;
  cursor outer{sealed.blob}, secret{sealed.encrypted_secret};
  const auto object = outer.sized(), point = secret.sized();
  cursor coordinates{point};
  const auto x = coordinates.sized(), y = coordinates.sized();
  bytes sec1{0x04};
  put(sec1, padded(x, 32));
  put(sec1, padded(y, 32));
  auto peer = public_key::from_point(sec1);
  if (!outer.done() || !secret.done() || !coordinates.done() || !peer)
    return std::nullopt;
  const auto shared = key.ecdh(peer.value());
  const auto seed = kdfe(ek.name_alg, shared.expose(), identity, x, own->x);
  const auto mac_key =
      kdfa(ek.name_alg, seed.expose(), "INTEGRITY", {}, {},
           static_cast<unsigned>(digest_size(ek.name_alg) * 8));
  cursor in{object};
  const auto integrity = in.sized(), encrypted = in.rest();
  if (!in.done() ||
      !equal_in_constant_time(integrity, hmac(ek.name_alg, mac_key.expose(),
                                              {encrypted, object_name})))
    return std::nullopt;
  const auto bits = own->symmetric.bits;
  const auto cipher_key =
      kdfa(ek.name_alg, seed.expose(), "STORAGE", object_name, {}, bits);
  auto plain = aes_cfb(direction::open, bits, cipher_key.expose(), encrypted);
  cursor inner{plain};
  secret_bytes out{inner.sized()};
  wipe(plain.data(), plain.size());
  return inner.done() ? std::optional{std::move(out)} : std::nullopt;
}

}  // namespace bc::pki::tpm
