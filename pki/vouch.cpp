#include "pki/vouch.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <utility>

namespace bc::pki::vouch {

namespace {

constexpr std::string_view algorithm = "ES256";
constexpr std::string_view type = "bc-vouch";
constexpr std::size_t jti_size = 16;
// 2^53 - 1: what every reader of JSON holds exactly.
constexpr std::int64_t max_number = 9'007'199'254'740'991;
// The year 9999: later times are no milliseconds that we can print.
constexpr std::int64_t max_seconds = 253'402'300'799;

// One address has one text: the one that inet_ntop writes.
bool is_ip(const std::string& text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != text.npos)
    return false;
  const int family = text.find(':') == text.npos ? AF_INET : AF_INET6;
  std::array<unsigned char, 16> address{};
  std::array<char, INET6_ADDRSTRLEN> again{};
  return inet_pton(family, text.c_str(), address.data()) == 1 &&
         inet_ntop(family, address.data(), again.data(), again.size()) !=
             nullptr &&
         text == again.data();
}

bool is_workflow(std::string_view text) {
  return !text.empty() && text.size() <= max_workflow &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':' ||
                  c == '-';
         });
}

bool is_jti(std::string_view text) {
  auto octets = from_base64url(text);
  return octets && octets.value().size() == jti_size;
}

std::int64_t seconds_of(time_point t) {
  return std::chrono::floor<seconds>(t).time_since_epoch().count();
}

bool is_whole_second(time_point t) {
  return t == std::chrono::floor<seconds>(t);
}

bool is_well_formed(const claims& c) {
  return !c.site.empty() && is_mac(c.mac) && is_ip(c.ip) &&
         (!c.workflow || is_workflow(*c.workflow)) && c.boot_lease_epoch > 0 &&
         c.boot_lease_epoch <= max_number && is_whole_second(c.issued_at) &&
         is_whole_second(c.expires_at) && seconds_of(c.issued_at) >= 0 &&
         seconds_of(c.expires_at) <= max_seconds &&
         c.expires_at > c.issued_at &&
         c.expires_at - c.issued_at <= max_lifetime && is_jti(c.jti);
}

std::optional<sha256_digest> digest_of(const result<bytes>& octets) {
  sha256_digest out;
  if (!octets || octets.value().size() != out.size())
    return std::nullopt;
  std::copy(octets.value().begin(), octets.value().end(), out.begin());
  return out;
}

// Lower case alone: one digest has one text.
std::optional<sha256_digest> hex_digest(const std::string& text) {
  auto out = digest_of(from_hex(text));
  return out && to_hex(*out) == text ? out : std::nullopt;
}

std::string header_text(const sha256_digest& certificate) {
  json::writer out;
  out.begin_object()
      .field("alg", algorithm)
      .field("typ", type)
      .field("x5t#S256", to_base64url(certificate))
      .end_object();
  return out.str();
}

std::string payload_text(const claims& says) {
  json::writer out;
  out.begin_object()
      .field("siteId", says.site.str())
      .field("mac", says.mac)
      .field("ip", says.ip)
      .field("workflowId", says.workflow)
      .field("bootLeaseEpoch", says.boot_lease_epoch)
      .field("csrSha256", to_hex(says.csr_sha256))
      .field("claimsSha256", to_hex(says.claims_sha256))
      .field("iat", seconds_of(says.issued_at))
      .field("exp", seconds_of(says.expires_at))
      .field("jti", says.jti)
      .end_object();
  return out.str();
}

// The faults of what follows are all one: malformed.
fault bad() {
  return fail(errc::invalid_input, "not a vouch");
}

result<sha256_digest> read_header(std::string_view text) {
  BC_TRY(doc, json::parse_object(text));
  json::reader from{doc};
  BC_TRY(alg, from.text("alg"));
  BC_TRY(typ, from.text("typ"));
  BC_TRY(thumbprint, from.text("x5t#S256"));
  auto certificate = digest_of(from_base64url(thumbprint));
  // All three are there, so one more is one that we do not know.
  if (alg != algorithm || typ != type || !certificate || doc.MemberCount() != 3)
    return bad();
  return *certificate;
}

result<claims> read_payload(std::string_view text) {
  BC_TRY(doc, json::parse_object(text));
  json::reader from{doc};
  claims out;
  BC_TRY(site, from.text("siteId"));
  BC_TRY(site_id, site_id::parse(site));
  BC_TRY(mac, from.text("mac"));
  BC_TRY(ip, from.text("ip"));
  BC_TRY(workflow, from.optional_text("workflowId"));
  BC_TRY(epoch, from.integer("bootLeaseEpoch"));
  BC_TRY(csr, from.text("csrSha256"));
  BC_TRY(claimed, from.text("claimsSha256"));
  BC_TRY(issued, from.integer("iat"));
  BC_TRY(expires, from.integer("exp"));
  BC_TRY(jti, from.text("jti"));
  auto csr_digest = hex_digest(csr);
  auto claims_digest = hex_digest(claimed);
  if (!csr_digest || !claims_digest || issued < 0 || issued > max_seconds ||
      expires < 0 || expires > max_seconds ||
      doc.MemberCount() != (workflow ? 10u : 9u))
    return bad();
  out.site = site_id;
  out.mac = mac;
  out.ip = ip;
  out.workflow = workflow;
  out.boot_lease_epoch = epoch;
  out.csr_sha256 = *csr_digest;
  out.claims_sha256 = *claims_digest;
  out.issued_at = from_millis(issued * 1000);
  out.expires_at = from_millis(expires * 1000);
  out.jti = jti;
  if (!is_well_formed(out))
    return bad();
  return out;
}

std::optional<std::array<std::string_view, 3>> three_parts(
    std::string_view compact) {
  const auto first = compact.find('.');
  if (first == compact.npos)
    return std::nullopt;
  const auto second = compact.find('.', first + 1);
  if (second == compact.npos || compact.find('.', second + 1) != compact.npos)
    return std::nullopt;
  return std::array{compact.substr(0, first),
                    compact.substr(first + 1, second - first - 1),
                    compact.substr(second + 1)};
}

result<vouch> read_parts(std::string_view compact) {
  if (compact.size() > max_size)
    return bad();
  auto parts = three_parts(compact);
  if (!parts)
    return bad();
  const auto [header, payload, signature] = *parts;
  BC_TRY(header_json, from_base64url(header));
  BC_TRY(payload_json, from_base64url(payload));
  BC_TRY(both, from_base64url(signature));
  vouch out;
  if (both.size() != out.signature.size())
    return bad();
  std::copy(both.begin(), both.end(), out.signature.begin());
  BC_TRY(certificate, read_header(as_text(header_json)));
  BC_TRY(says, read_payload(as_text(payload_json)));
  out.certificate = certificate;
  out.says = says;
  // RFC 7515 section 5.2: over the text of both parts as it came.
  out.digest = sha256(
      as_bytes(compact.substr(0, compact.size() - signature.size() - 1)));
  return out;
}

}  // namespace

bool is_mac(std::string_view text) noexcept {
  if (text.size() != 17)
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (i % 3 == 2 ? c != ':' : !digit)
      return false;
  }
  return true;
}

std::string_view text_of(code c) noexcept {
  switch (c) {
    case code::missing:
      return "vouch-missing";
    case code::malformed:
      return "vouch-malformed";
    case code::expired:
      return "vouch-expired";
    case code::signature:
      return "vouch-signature";
    case code::csr:
      return "vouch-csr";
    case code::claims:
      return "vouch-claims";
  }
  return {};
}

std::string new_jti() {
  return to_base64url(random_bytes(jti_size));
}

result<std::string> make(const claims& says, byte_view certificate,
                         const signer& sign) {
  if (!is_well_formed(says))
    return fail(errc::invalid_input, "these claims cannot be vouched for");
  auto text = to_base64url(as_bytes(header_text(sha256(certificate)))) + '.' +
              to_base64url(as_bytes(payload_text(says)));
  BC_TRY(signature, sign(sha256(as_bytes(text))));
  return text + '.' + to_base64url(signature);
}

std::variant<vouch, code> read(std::string_view compact) {
  if (compact.empty())
    return code::missing;
  auto out = read_parts(compact);
  if (!out)
    return code::malformed;
  return std::move(out).value();
}

bool is_live(const claims& says, time_point now) noexcept {
  return says.issued_at <= now + clock_skew && now < says.expires_at;
}

bool is_signed_by(const vouch& v, const public_key& key) {
  return key.verify(v.digest, v.signature);
}

}  // namespace bc::pki::vouch
