#include "pki/csr.hpp"

#include "pki/der.hpp"
#include "pki/ecdsa.hpp"
#include "pki/oids.hpp"
#include "pki/x509.hpp"

#include <algorithm>

namespace bc::pki {

namespace {

constexpr std::size_t max_size = 4096;

fault bad(std::string why) {
  return fail(errc::invalid_input, "not a certificate request: " + why);
}

// Attributes of RFC 2986: a SET OF SEQUENCE { type, SET OF values }.
bool are_attributes(byte_view content) {
  if (!der::well_formed(content) || !der::is_sorted(content))
    return false;
  der::reader in{content};
  while (!in.at_end()) {
    auto attribute = in.take(der::sequence);
    if (!attribute)
      return false;
    der::reader parts{attribute->content};
    auto type = parts.take(der::oid);
    auto values = parts.take(der::set);
    if (!type || !values || values->content.empty() || !parts.at_end() ||
        !der::is_sorted(values->content))
      return false;
  }
  return true;
}

result<public_key> key_of_info(byte_view content) {
  der::reader in{content};
  auto version = in.take(der::integer);
  if (!version || !std::ranges::equal(version->content, oids::der_of(0)))
    return bad("its version is not 0");
  auto subject = in.take(der::sequence);
  if (!subject || !der::is_name(subject->content))
    return bad("its subject is not a name");
  auto spki = in.take(der::sequence);
  if (!spki)
    return bad("it has no key");
  auto attributes = in.take(der::context(0));
  if (!attributes || !in.at_end() || !are_attributes(attributes->content))
    return bad("its attributes are not well formed");
  return public_key::from_spki(spki->whole);
}

}  // namespace

bytes csr_info(const public_key& key) {
  return der::wrap(der::sequence,
                   {oids::der_of(2, 1, 0),
                    x509::name(oids::common_name, "better-compute-node"),
                    key.spki(), oids::der_of(0xa0, 0)});
}

bytes assemble_csr(byte_view info, const raw_signature& signature) {
  return der::wrap(der::sequence, {info, oids::ecdsa_sha256,
                                   der::write_bits(ecdsa::to_der(signature))});
}

bytes build_csr(const private_key& key) {
  auto info = csr_info(key.pub());
  return assemble_csr(info, key.sign(sha256(info)));
}

result<csr> parse_csr(byte_view der) {
  if (der.size() > max_size)
    return bad("it is over 4096 bytes");
  der::reader top{der};
  auto outer = top.take(der::sequence);
  if (!outer || !top.at_end())
    return bad("it is not one DER element");
  der::reader in{outer->content};
  auto info = in.take(der::sequence);
  auto algorithm = in.take(der::sequence);
  auto bits = in.take(der::bit_string);
  if (!info || !algorithm || !bits || !in.at_end())
    return bad("its parts are not those of RFC 2986");
  if (!std::ranges::equal(algorithm->whole, oids::ecdsa_sha256))
    return bad("it is not signed with ecdsa-with-SHA256");
  auto signature = der::octets_of_bits(bits->content);
  if (!signature || !ecdsa::from_der(*signature))
    return bad("its signature is not an ECDSA-Sig-Value in DER");
  BC_TRY(key, key_of_info(info->content));
  return csr{key, sha256(info->whole), to_bytes(*signature)};
}

bool self_signature_verifies(const csr& request) {
  return request.key.verify_der(request.tbs_sha256, request.signature);
}

}  // namespace bc::pki
