#include "pki/tpm/identity.hpp"

#include "base/encoding.hpp"
#include "pki/der.hpp"
#include "pki/oids.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/evp.hpp"
#include "pki/tpm/hash.hpp"

#include <algorithm>

namespace bc::pki::tpm {

namespace {

constexpr std::string_view statement_prefix = "urn:bc:tpm-ak:";

/// AlgorithmIdentifier of rsaEncryption (RFC 8017 appendix C).
constexpr auto rsa_algorithm = oids::der_of(0x30, 0x0d, 6, 9, 0x2a, 0x86, 0x48,
                                            0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0);
/// AlgorithmIdentifier of id-ecPublicKey with secp384r1.
constexpr auto p384_algorithm =
    oids::der_of(0x30, 0x10, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 5,
                 0x2b, 0x81, 4, 0, 0x22);

bytes rsa_spki(const rsa_parameters& p) {
  bytes exponent;
  put_number(exponent, p.exponent == 0 ? 65537 : p.exponent, 4);
  auto key = der::wrap(der::sequence, {der::write_unsigned(p.modulus),
                                       der::write_unsigned(exponent)});
  return der::wrap(der::sequence, {rsa_algorithm, der::write_bits(key)});
}

std::uint16_t algorithm_of(byte_view name) {
  return name.size() < 2 ? std::uint16_t{alg::null}
                         : static_cast<std::uint16_t>((name[0] << 8) | name[1]);
}

}  // namespace

bytes name_of(const public_area& area, byte_view as_received) {
  auto digest = hash(area.name_alg, {as_received});
  bytes out;
  if (digest.empty())
    return out;
  put_number(out, area.name_alg, 2);
  put(out, digest);
  return out;
}

bytes qualified_name_of_primary(std::uint32_t hierarchy, byte_view name) {
  bytes parent, out;
  put_number(parent, hierarchy, 4);
  auto digest = hash(algorithm_of(name), {parent, name});
  if (digest.empty())
    return out;
  put(out, name.first(2));
  put(out, digest);
  return out;
}

bool is_lasting_primary(byte_view qualified_name, byte_view name) {
  return !qualified_name.empty() &&
         (std::ranges::equal(qualified_name, qualified_name_of_primary(
                                                 hierarchy::owner, name)) ||
          std::ranges::equal(
              qualified_name,
              qualified_name_of_primary(hierarchy::endorsement, name)));
}

bytes spki_of(const public_area& area) {
  if (const auto* rsa = area.rsa())
    return rsa_spki(*rsa);
  const auto* ecc = area.ecc();
  auto point = ecc == nullptr ? bytes{} : sec1_point(*ecc);
  if (point.empty())
    return {};
  byte_view algorithm = p384_algorithm;
  if (ecc->curve == curve::p256)
    algorithm = oids::p256_algorithm;
  return der::wrap(der::sequence, {algorithm, der::write_bits(point)});
}

sha256_digest ek_hash(const public_area& ek) {
  return sha256(spki_of(ek));
}

std::string ak_statement(byte_view ak_name) {
  auto algorithm = algorithm_of(ak_name);
  if ((algorithm != alg::sha256 && algorithm != alg::sha384) ||
      ak_name.size() != 2 + digest_size(algorithm))
    return {};
  std::string out{statement_prefix};
  out += algorithm == alg::sha256 ? "sha256:" : "sha384:";
  return out + to_hex(ak_name.subspan(2));
}

bool is_ak_statement(std::string_view statement) noexcept {
  return statement.starts_with(statement_prefix);
}

}  // namespace bc::pki::tpm
