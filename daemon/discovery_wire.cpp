#include "daemon/discovery_wire.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/vouch.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace bc::daemon {

namespace {

constexpr std::size_t max_message = 512;

struct denial_row {
  vouch_denial what;
  std::string_view text;
  int status;
};
constexpr std::array<denial_row, 9> denials = {{
    {vouch_denial::malformed, "malformed", 400},
    {vouch_denial::not_found, "not-found", 404},
    {vouch_denial::dhcp_lease, "dhcp-lease", 403},
    {vouch_denial::mac, "mac", 403},
    {vouch_denial::rate, "rate", 429},
    {vouch_denial::boot_lease, "boot-lease", 503},
    {vouch_denial::leases, "leases", 503},
    {vouch_denial::signing, "signing", 503},
    {vouch_denial::busy, "busy", 503},
}};

const denial_row& row_of(vouch_denial d) noexcept {
  return *std::find_if(denials.begin(), denials.end(),
                       [d](const denial_row& r) { return r.what == d; });
}

fault invalid(std::string message, std::string path) {
  return fail(errc::invalid_input, std::move(message), std::move(path));
}

result<void> only(const json::document& doc,
                  std::initializer_list<std::string_view> known) {
  for (const auto& member : doc.GetObject()) {
    std::string_view name{member.name.GetString(),
                          member.name.GetStringLength()};
    if (std::find(known.begin(), known.end(), name) == known.end())
      return invalid("is not known", "/" + std::string{name});
  }
  return ok();
}

result<pki::sha256_digest> digest(const json::reader& from,
                                  std::string_view name) {
  BC_TRY(text, from.text(name));
  auto octets = from_hex(text);
  pki::sha256_digest out{};
  if (!octets || octets.value().size() != out.size() ||
      to_hex(octets.value()) != text)
    return invalid("must be 64 lower-case hex digits", from.path_of(name));
  std::copy(octets.value().begin(), octets.value().end(), out.begin());
  return out;
}

bool is_compact_jws(std::string_view text) {
  return text.size() <= pki::vouch::max_size &&
         std::count(text.begin(), text.end(), '.') == 2 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

std::string encode(const vouch_request& request) {
  json::writer out;
  out.begin_object()
      .field("csrSha256", to_hex(request.csr_sha256))
      .field("claimsSha256", to_hex(request.claims_sha256))
      .field("mac", request.mac)
      .end_object();
  return out.str();
}

result<vouch_request> decode_vouch_request(std::string_view body) {
  if (body.size() > max_vouch_request)
    return invalid("the body is larger than 4 KiB", "");
  BC_TRY(doc, json::parse_object(body));
  BC_TRYV(only(doc, {"csrSha256", "claimsSha256", "mac"}));
  json::reader from{doc};
  BC_TRY(csr, digest(from, "csrSha256"));
  BC_TRY(claims, digest(from, "claimsSha256"));
  BC_TRY(mac, from.text("mac"));
  if (!pki::vouch::is_mac(mac))
    return invalid("must be aa:bb:cc:dd:ee:ff in lower case",
                   from.path_of("mac"));
  return vouch_request{csr, claims, mac};
}

std::string_view denial_text(vouch_denial d) noexcept {
  return row_of(d).text;
}

int denial_status(vouch_denial d) noexcept {
  return row_of(d).status;
}

int status_of(const vouch_answer& answer) noexcept {
  const auto* refused = std::get_if<vouch_refused>(&answer);
  return refused == nullptr ? 200 : denial_status(refused->why);
}

std::string encode(const vouch_answer& answer) {
  json::writer out;
  out.begin_object();
  if (const auto* refused = std::get_if<vouch_refused>(&answer))
    out.field("code", denial_text(refused->why))
        .field("message", refused->message);
  else
    out.field("vouch", std::get<std::string>(answer));
  return out.end_object().str();
}

result<vouch_answer> decode_vouch_answer(int status, std::string_view body) {
  if (body.size() > max_vouch_answer)
    return invalid("the answer is larger than 8 KiB", "");
  BC_TRY(doc, json::parse_object(body));
  json::reader from{doc};
  if (status == 200) {
    BC_TRYV(only(doc, {"vouch"}));
    BC_TRY(vouch, from.text("vouch"));
    if (!is_compact_jws(vouch))
      return invalid("is not a compact JWS", "/vouch");
    return vouch_answer{vouch};
  }
  BC_TRYV(only(doc, {"code", "message"}));
  BC_TRY(code, from.text("code"));
  BC_TRY(message, from.text("message"));
  const auto* row =
      std::find_if(denials.begin(), denials.end(), [&](const denial_row& r) {
        return r.text == code && r.status == status;
      });
  if (row == denials.end() || message.size() > max_message)
    return invalid("is not one of ours", "/code");
  return vouch_answer{vouch_refused{row->what, message}};
}

}  // namespace bc::daemon
