#include "pki/tpm/templates.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"

namespace bc::pki::tpm {

namespace {

// PolicySecret(endorsement), and what the high range has in its place.
constexpr std::string_view policy_a_256 =
    "837197674484b3f81a90cc8d46a5d724fd52d76e06520b64f2a1da1b331469aa";
constexpr std::string_view policy_b_256 =
    "ca3d0a99a2b93906f7a3342414efcfb3a385d44cd1fd459089d19b5071c0b7a0";
constexpr std::string_view policy_b_384 =
    "b26e7d28d11a50bc53d882bcf5fd3a1a074148bb35d3b4e4cb1c0ad9bde419ca"
    "cb47ba09699646150f9fc000f3f80e12";

public_area area_of(std::uint16_t type, std::uint16_t hash,
                    std::uint32_t attributes, std::string_view policy) {
  public_area out;
  out.type = type;
  out.name_alg = hash;
  out.attributes = attributes;
  out.auth_policy = from_hex(policy).value();
  return out;
}

symmetric aes(std::uint16_t bits) {
  return {alg::aes, bits, alg::cfb};
}

public_area rsa_ek(std::uint16_t bits, bool high) {
  bool large = bits == 3072;
  auto out = area_of(alg::rsa, large ? alg::sha384 : alg::sha256,
                     high ? 0x300f2 : 0x300b2,
                     large  ? policy_b_384
                     : high ? policy_b_256
                            : policy_a_256);
  rsa_parameters p;
  p.symmetric = aes(large ? 256 : 128);
  p.bits = bits;
  // The low range spells `unique` out as zeros, which changes the key.
  p.modulus = bytes(high ? 0 : bits / 8u);
  out.parameters = std::move(p);
  return out;
}

public_area curve_ek(std::uint16_t curve, bool high) {
  bool large = curve == curve::p384;
  auto out = area_of(alg::ecc, large ? alg::sha384 : alg::sha256,
                     high ? 0x300f2 : 0x300b2,
                     large  ? policy_b_384
                     : high ? policy_b_256
                            : policy_a_256);
  ecc_parameters p;
  p.symmetric = aes(large ? 256 : 128);
  p.curve = curve;
  p.x = p.y = bytes(high ? 0 : 32);
  out.parameters = std::move(p);
  return out;
}

public_area signing_key(std::uint32_t attributes) {
  auto out = area_of(alg::ecc, alg::sha256, attributes, "");
  ecc_parameters p;
  p.scheme = {alg::ecdsa, alg::sha256};
  p.curve = curve::p256;
  out.parameters = std::move(p);
  return out;
}

}  // namespace

std::optional<public_area> ek_template(std::string_view kind) {
  if (kind == "rsa-2048")
    return rsa_ek(2048, false);
  if (kind == "rsa-2048-high")
    return rsa_ek(2048, true);
  if (kind == "p256")
    return curve_ek(curve::p256, false);
  if (kind == "p256-high")
    return curve_ek(curve::p256, true);
  if (kind == "p384")
    return curve_ek(curve::p384, true);
  if (kind == "rsa-3072")
    return rsa_ek(3072, true);
  return std::nullopt;
}

public_area ak_template() {
  auto out = signing_key(0x50472);
  std::get<ecc_parameters>(out.parameters).x =
      to_bytes(sha256(as_bytes("bcd/ak/v1")));
  return out;
}

public_area srk_template() {
  auto out = area_of(alg::ecc, alg::sha256, 0x30472, "");
  ecc_parameters p;
  p.symmetric = aes(128);
  p.curve = curve::p256;
  out.parameters = std::move(p);
  return out;
}

public_area node_key_template() {
  return signing_key(0x40472);
}

}  // namespace bc::pki::tpm
