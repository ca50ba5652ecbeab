#pragma once

#include "base/result.hpp"
#include "pki/digest.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

/// POST /v1/vouch: a ramdisk asks the site agent that booted it for its word,
/// in plain HTTP on the provisioning network (spec: ATTESTATION section 4).
namespace bc::daemon {

inline constexpr std::string_view vouch_path = "/v1/vouch";
inline constexpr std::size_t max_vouch_request = 4096;
inline constexpr std::size_t max_vouch_answer = 8192;

/// {"csrSha256":"…","claimsSha256":"…","mac":"aa:bb:cc:dd:ee:ff"}, the digests
/// in lower-case hex.
struct vouch_request {
  pki::sha256_digest csr_sha256{};
  pki::sha256_digest claims_sha256{};
  std::string mac;

  bool operator==(const vouch_request&) const = default;
};
[[nodiscard]] std::string encode(const vouch_request& request);
/// Strict: INVALID_INPUT for a member that is unknown, missing, twice there or
/// of another form.
[[nodiscard]] result<vouch_request> decode_vouch_request(std::string_view body);

/// Why there is no vouch.
enum class vouch_denial {
  malformed,   // 400
  not_found,   // 404: another path or method
  dhcp_lease,  // 403: no lease of this agent's for the address
  mac,         // 403: the address is lent to another MAC
  rate,        // 429
  boot_lease,  // 503: another agent has the site's boot lease, or none has
  leases,      // 503: the DHCP leases cannot be read
  signing,     // 503: the agent's key does not sign
  busy,        // 503
};
/// "malformed", "dhcp-lease", "boot-lease", …
[[nodiscard]] std::string_view denial_text(vouch_denial d) noexcept;
[[nodiscard]] int denial_status(vouch_denial d) noexcept;

/// An answer: a compact JWS, or {"code":"…","message":"…"}.
struct vouch_refused {
  vouch_denial why = vouch_denial::malformed;
  std::string message;

  bool operator==(const vouch_refused&) const = default;
};
using vouch_answer = std::variant<std::string, vouch_refused>;
[[nodiscard]] int status_of(const vouch_answer& answer) noexcept;
[[nodiscard]] std::string encode(const vouch_answer& answer);
/// INVALID_INPUT for a body that encode() does not write for that status. The
/// vouch is of the characters of a compact JWS; nothing more is judged.
[[nodiscard]] result<vouch_answer> decode_vouch_answer(int status,
                                                       std::string_view body);

}  // namespace bc::daemon
