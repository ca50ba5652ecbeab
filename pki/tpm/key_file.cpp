#include "pki/tpm/key_file.hpp"

#include "pki/der.hpp"
#include "pki/oids.hpp"
#include "pki/pem.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/structures.hpp"

#include <algorithm>

namespace bc::pki::tpm {

namespace {

constexpr std::string_view label = "TSS2 PRIVATE KEY";
constexpr auto loadable = oids::der_of(6, 6, 0x67, 0x81, 5, 0x0a, 1, 3);
/// [0] { TRUE }: it has no authorisation of its own.
constexpr auto no_auth = oids::der_of(0xa0, 3, 1, 1, 0xff);
/// TPM_RH_OWNER.
constexpr auto owner = oids::der_of(2, 4, 0x40, 0, 0, 1);

bytes sized_octets(byte_view content) {
  bytes inner;
  put_sized(inner, content);
  return der::wrap(der::octet_string, {inner});
}

// The content of the TPM2B in an OCTET STRING.
std::optional<bytes> content_of(const std::optional<der::element>& octets) {
  if (!octets)
    return std::nullopt;
  cursor in{octets->content};
  auto out = in.sized();
  if (!in.done() || out.empty())
    return std::nullopt;
  return out;
}

}  // namespace

std::string key_file_of(const key_blobs& key) {
  auto der = der::wrap(der::sequence,
                       {loadable, no_auth, owner, sized_octets(key.public_area),
                        sized_octets(key.private_area)});
  return std::string{pem::encode(label, der).expose_text()};
}

result<key_blobs> read_key_file(std::string_view pem) {
  BC_TRY(whole, pem::decode(label, pem));
  der::reader top{whole.expose()};
  auto body = top.take(der::sequence);
  der::reader in{body ? body->content : byte_view{}};
  auto kind = in.take(der::oid);
  auto auth = in.take(der::context(0));
  auto parent = in.take(der::integer);
  auto public_area = content_of(in.take(der::octet_string));
  auto private_area = content_of(in.take(der::octet_string));
  if (!top.at_end() || !in.at_end() || !kind ||
      !std::ranges::equal(kind->whole, loadable) || !auth ||
      !std::ranges::equal(auth->whole, no_auth) || !parent ||
      !std::ranges::equal(parent->whole, owner) || !public_area ||
      !private_area || !parse_public(*public_area))
    return fail(errc::invalid_input,
                "not a TSS2 key without password under the owner hierarchy");
  return key_blobs{std::move(*private_area), std::move(*public_area)};
}

bool is_key_file(std::string_view text) noexcept {
  return text.find("-----BEGIN TSS2 PRIVATE KEY-----") != text.npos;
}

}  // namespace bc::pki::tpm
