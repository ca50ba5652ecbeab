#include "pki/certificate.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"
#include "pki/der.hpp"
#include "pki/oids.hpp"
#include "pki/ossl.hpp"
#include "pki/pem.hpp"
#include "pki/spiffe.hpp"
#include "pki/x509.hpp"

#include <algorithm>

namespace bc::pki {

namespace {

constexpr std::string_view pem_label = "CERTIFICATE";
constexpr std::string_view pem_end = "-----END CERTIFICATE-----";
constexpr std::size_t max_certificates = 16;
constexpr std::uint8_t dns_name = 0x82;
constexpr std::uint8_t uri_name = 0x86;

constexpr certificate_role roles[] = {
    certificate_role::node, certificate_role::site, certificate_role::ramdisk,
    certificate_role::node_tenant};

bytes role_subject(certificate_role role) {
  return x509::name(oids::organizational_unit,
                    "bc-role:" + std::string{role_text(role)});
}

// The role, when the whole subject is byte for byte one that we write: no
// second value, no other string type, no other spelling can carry it.
std::optional<certificate_role> role_of(byte_view subject) {
  for (auto role : roles)
    if (std::ranges::equal(subject, role_subject(role)))
      return role;
  return std::nullopt;
}

bytes uri_names(const node_certificate_request& r) {
  bytes list;
  auto append = [&](std::string_view uri) {
    auto name = der::wrap(uri_name, {as_bytes(uri)});
    list.insert(list.end(), name.begin(), name.end());
  };
  append(to_uri({r.trust_domain, r.site, r.node}));
  for (const auto& statement : r.statements)
    append(statement);
  return der::wrap(der::sequence, {list});
}

// The CA's own key id, which a CA of other making may have made otherwise.
bytes key_id_of_ca(const x509::parts& ca, const issuer& node_ca) {
  if (const auto* found = ca.find(oids::subject_key_id)) {
    der::reader in{found->value};
    auto id = in.take(der::octet_string);
    if (id && in.at_end())
      return to_bytes(id->content);
  }
  return x509::key_id(node_ca.key.pub());
}

bool is_known(byte_view id) {
  for (byte_view known :
       {byte_view{oids::subject_key_id}, byte_view{oids::key_usage},
        byte_view{oids::subject_alt_name}, byte_view{oids::basic_constraints},
        byte_view{oids::authority_key_id}, byte_view{oids::extended_key_usage}})
    if (std::ranges::equal(id, known))
      return true;
  return false;
}

bool read_names(byte_view value, leaf_view& out) {
  der::reader top{value};
  auto list = top.take(der::sequence);
  if (!list || !top.at_end())
    return false;
  der::reader in{list->content};
  while (!in.at_end()) {
    auto name = in.next();
    if (!name)
      return false;
    if (name->tag != uri_name && name->tag != dns_name)
      continue;
    // An IA5String. A NUL would end it early for some other reader.
    if (!std::ranges::all_of(name->content,
                             [](auto b) { return b >= 0x20 && b < 0x7f; }))
      return false;
    auto& names = name->tag == uri_name ? out.uris : out.dns_names;
    names.emplace_back(as_text(name->content));
  }
  return true;
}

}  // namespace

std::string_view role_text(certificate_role role) noexcept {
  switch (role) {
    case certificate_role::node:
      return "node";
    case certificate_role::site:
      return "site";
    case certificate_role::ramdisk:
      return "ramdisk";
    case certificate_role::node_tenant:
      return "node-tenant";
  }
  return {};
}

std::optional<certificate_role> parse_role(std::string_view text) noexcept {
  for (auto role : roles)
    if (text == role_text(role))
      return role;
  return std::nullopt;
}

issued_certificate issue_node_certificate(
    const issuer& node_ca, const node_certificate_request& request) {
  auto ca = x509::split(node_ca.certificate);
  ossl::must(ca.has_value(), "the node CA's certificate does not parse");
  auto maximum = request.role == certificate_role::ramdisk
                     ? max_ramdisk_lifetime
                     : max_node_lifetime;
  // Whole seconds first, so that the two ends lie exactly the lifetime apart.
  time_point not_before = std::chrono::floor<seconds>(request.now) - backdating;
  auto not_after =
      not_before + std::clamp(request.lifetime, seconds{1}, maximum);
  auto serial = x509::serial_of(request.serial_random);
  auto client_auth = der::wrap(der::sequence, {oids::client_auth});
  auto der = x509::sign(
      node_ca.key,
      {.serial = serial,
       .issuer = ca.value().subject,
       .not_before = not_before,
       .not_after = not_after,
       .subject = role_subject(request.role),
       .key = request.subject_key,
       .extensions = {
           x509::make_extension(oids::basic_constraints, true,
                                oids::der_of(0x30, 0)),
           // BIT STRING with digitalSignature alone.
           x509::make_extension(oids::key_usage, true,
                                oids::der_of(3, 2, 7, 0x80)),
           x509::make_extension(oids::extended_key_usage, false, client_auth),
           x509::subject_key_id_extension(x509::key_id(request.subject_key)),
           x509::authority_key_id_extension(key_id_of_ca(ca.value(), node_ca)),
           x509::make_extension(oids::subject_alt_name, false,
                                uri_names(request))}});
  return {std::move(der), to_hex(serial), not_before, not_after};
}

result<leaf_view> parse_certificate(byte_view der) {
  BC_TRY(parts, x509::split(der));
  BC_TRY(key, public_key::from_spki(parts.spki));
  leaf_view out{.key = std::move(key),
                .serial = to_hex(parts.serial),
                .uris = {},
                .dns_names = {},
                .role = role_of(parts.subject),
                .not_before = parts.not_before,
                .not_after = parts.not_after};
  for (const auto& extension : parts.extensions) {
    bool known = is_known(extension.id);
    if (extension.critical && !known)
      return fail(errc::invalid_input,
                  "not a certificate: an unknown extension is critical");
    if (known && !der::well_formed(extension.value))
      return fail(errc::invalid_input,
                  "not a certificate: an extension is not well formed");
  }
  auto ca = x509::is_ca(parts);
  const auto* names = parts.find(oids::subject_alt_name);
  if (!ca || (names != nullptr && !read_names(names->value, out)))
    return fail(errc::invalid_input,
                "not a certificate: an extension is not well formed");
  out.is_ca = *ca;
  return out;
}

bool is_signed_by(byte_view der, byte_view ca_der) {
  auto leaf = x509::split(der), ca = x509::split(ca_der);
  if (!leaf || !ca || !x509::may_sign_certificates(ca.value()) ||
      !std::ranges::equal(leaf.value().issuer, ca.value().subject) ||
      !std::ranges::equal(leaf.value().signature_algorithm, oids::ecdsa_sha256))
    return false;
  auto key = public_key::from_spki(ca.value().spki);
  return key && key.value().verify_der(sha256(leaf.value().tbs),
                                       leaf.value().signature);
}

std::string certificate_pem(byte_view der) {
  return std::string{pem::encode(pem_label, der).expose_text()};
}

result<bytes> certificate_from_pem(std::string_view pem) {
  BC_TRY(der, pem::decode(pem_label, pem));
  BC_TRYV(x509::split(der.expose()));
  return to_bytes(der.expose());
}

std::string certificates_pem(const std::vector<bytes>& ders) {
  std::string out;
  for (const auto& der : ders)
    out += certificate_pem(der);
  return out;
}

result<std::vector<bytes>> certificates_from_pem(std::string_view pem) {
  std::vector<bytes> out;
  for (auto rest = trimmed(pem); !rest.empty(); rest = trimmed(rest)) {
    if (out.size() == max_certificates)
      return fail(errc::invalid_input, "more than 16 certificates");
    auto end = rest.find(pem_end);
    auto size = end == rest.npos ? rest.size() : end + pem_end.size();
    BC_TRY(der, certificate_from_pem(rest.substr(0, size)));
    out.push_back(std::move(der));
    rest.remove_prefix(size);
  }
  if (out.empty())
    return fail(errc::invalid_input, "no certificate in PEM");
  return out;
}

}  // namespace bc::pki
