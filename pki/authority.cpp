#include "pki/authority.hpp"

#include "base/encoding.hpp"
#include "pki/der.hpp"
#include "pki/oids.hpp"
#include "pki/x509.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>

namespace bc::pki {

namespace {

constexpr std::chrono::days ca_lifetime{3652};
constexpr std::chrono::days server_lifetime{90};
constexpr std::uint8_t dns_name = 0x82;
constexpr std::uint8_t ip_name = 0x87;

std::array<std::uint8_t, 16> fresh_serial() {
  auto random = random_bytes(16);
  std::array<std::uint8_t, 16> out;
  std::copy(random.begin(), random.end(), out.begin());
  return x509::serial_of(out);
}

// The common name's upper bound is in RFC 5280 appendix A.
bool is_common_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && is_utf8(text) &&
         text.find('\0') == text.npos;
}

result<issuer> self_signed(std::string_view common_name, time_point now,
                           bytes constraints, bytes usage) {
  if (!is_common_name(common_name))
    return fail(errc::invalid_input, "a common name is 1 to 64 bytes");
  auto key = private_key::generate();
  auto name = x509::name(oids::common_name, common_name);
  auto id = x509::key_id(key.pub());
  time_point not_before = std::chrono::floor<seconds>(now) - backdating;
  auto certificate = x509::sign(
      key, {.serial = fresh_serial(),
            .issuer = name,
            .not_before = not_before,
            .not_after = not_before + ca_lifetime,
            .subject = name,
            .key = key.pub(),
            .extensions = {x509::make_extension(oids::basic_constraints, true,
                                                constraints),
                           x509::make_extension(oids::key_usage, true, usage),
                           x509::subject_key_id_extension(id),
                           x509::authority_key_id_extension(id)}});
  return issuer{std::move(key), std::move(certificate)};
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= 63 && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
         });
}

bool is_dns_name(std::string_view name) {
  if (name.size() > 253)
    return false;
  if (name.starts_with("*."))
    name.remove_prefix(2);
  std::string_view last;
  while (true) {
    auto dot = name.find('.');
    last = name.substr(0, dot);
    if (!is_label(last))
      return false;
    if (dot == name.npos)
      break;
    name.remove_prefix(dot + 1);
  }
  // "10.0.0.999" is a mistyped address, not a name.
  return !std::ranges::all_of(last,
                              [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<bytes> general_name(const std::string& name) {
  std::array<std::uint8_t, 16> address;
  if (::inet_pton(AF_INET, name.c_str(), address.data()) == 1)
    return der::wrap(ip_name, {byte_view{address}.first(4)});
  if (::inet_pton(AF_INET6, name.c_str(), address.data()) == 1)
    return der::wrap(ip_name, {address});
  std::string lower{name};
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  if (!is_dns_name(lower))
    return std::nullopt;
  return der::wrap(dns_name, {as_bytes(lower)});
}

// As GeneralNames, one after another.
result<bytes> general_names(const std::vector<std::string>& names) {
  bytes list;
  for (const auto& name : names) {
    auto general = general_name(name);
    if (!general || name.find('\0') != name.npos)
      return fail(errc::invalid_input,
                  "\"" + name + "\" is neither a DNS name nor an IP address");
    list.insert(list.end(), general->begin(), general->end());
  }
  return list;
}

}  // namespace

result<issuer> make_ca(std::string_view common_name, time_point now) {
  // CA true with pathLen 0; keyCertSign and cRLSign.
  auto constraints = oids::der_of(0x30, 6, 1, 1, 0xff, 2, 1, 0);
  auto usage = oids::der_of(3, 2, 1, 0x06);
  return self_signed(common_name, now, to_bytes(constraints), to_bytes(usage));
}

result<issuer> make_self_signed(std::string_view common_name, time_point now) {
  auto constraints = oids::der_of(0x30, 0);
  auto usage = oids::der_of(3, 2, 7, 0x80);
  return self_signed(common_name, now, to_bytes(constraints), to_bytes(usage));
}

result<issuer> issue_leaf(const issuer& ca, const leaf& what, time_point now) {
  BC_TRY(list, general_names(what.names));
  BC_TRY(above, x509::split(ca.certificate));
  auto key = private_key::generate();
  time_point not_before = std::chrono::floor<seconds>(now) - backdating;
  std::vector<bytes> extensions{
      x509::make_extension(oids::basic_constraints, true,
                           oids::der_of(0x30, 0)),
      x509::make_extension(oids::key_usage, true, oids::der_of(3, 2, 7, 0x80)),
      x509::make_extension(oids::extended_key_usage, false, what.usage),
      x509::subject_key_id_extension(x509::key_id(key.pub())),
      x509::authority_key_id_extension(x509::key_id(ca.key.pub()))};
  if (!what.names.empty())
    extensions.push_back(x509::make_extension(
        oids::subject_alt_name, false, der::wrap(der::sequence, {list})));
  auto certificate =
      x509::sign(ca.key, {.serial = fresh_serial(),
                          .issuer = above.subject,
                          .not_before = not_before,
                          .not_after = not_before + what.lifetime,
                          .subject = what.subject,
                          .key = key.pub(),
                          .extensions = std::move(extensions)});
  return issuer{std::move(key), std::move(certificate)};
}

result<issuer> issue_server_certificate(const issuer& serving_ca,
                                        const std::vector<std::string>& names,
                                        time_point now) {
  if (names.empty())
    return fail(errc::invalid_input, "a server certificate needs a name");
  return issue_leaf(
      serving_ca,
      {.subject = x509::name(oids::common_name, "better-compute server"),
       .usage = der::wrap(der::sequence, {oids::server_auth}),
       .names = names,
       .lifetime = server_lifetime},
      now);
}

}  // namespace bc::pki
