#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "pki/digest.hpp"
#include "pki/key.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// A site agent's word on a machine that it booted (spec: ATTESTATION section
/// 4): a compact JWS (RFC 7515), ES256 by the agent's node key. Header, just
/// these: alg "ES256", typ "bc-vouch", x5t#S256. Payload, just these: siteId,
/// mac, ip, workflowId (may be missing), bootLeaseEpoch, csrSha256 and
/// claimsSha256 (hex), iat and exp (seconds), jti.
namespace bc::pki::vouch {

inline constexpr std::size_t max_size = 4096;
/// exp - iat is at most this.
inline constexpr seconds max_lifetime{120};
inline constexpr std::size_t max_workflow = 128;

/// What a join by a vouch is refused for that the vouch itself can tell, in the
/// order it is judged.
enum class code {
  missing,    // an empty text
  malformed,  // not of the form above, to the last character
  expired,    // not yet issued, or past its end
  signature,  // not by the key that is held to have signed it
  csr,        // made for another CSR
  claims,     // made for other claims
};
/// The reason after "discovery:": "vouch-missing", "vouch-csr", …
[[nodiscard]] std::string_view text_of(code c) noexcept;

/// aa:bb:cc:dd:ee:ff, in lower case.
[[nodiscard]] bool is_mac(std::string_view text) noexcept;

struct claims {
  site_id site;
  std::string mac;                      // aa:bb:cc:dd:ee:ff
  std::string ip;                       // canonical text, IPv4 or IPv6
  std::optional<std::string> workflow;  // 1 to 128 of A-Z a-z 0-9 . _ : -
  std::int64_t boot_lease_epoch = 0;    // from 1
  sha256_digest csr_sha256{};
  sha256_digest claims_sha256{};  // pki/claims_digest.hpp
  time_point issued_at{};         // whole seconds
  time_point expires_at{};        // whole seconds
  std::string jti;                // base64url of 16 bytes: 22 characters
  bool operator==(const claims&) const = default;
};

/// A vouch that was read; its signature is judged apart.
struct vouch {
  claims says;
  sha256_digest certificate;  // x5t#S256: of the signer's certificate, DER
  sha256_digest digest;       // what was signed
  raw_signature signature;
};

/// Signs a digest; the key may be in a TPM, which may fail.
using signer = std::function<result<raw_signature>(const sha256_digest&)>;

/// A new jti.
[[nodiscard]] std::string new_jti();

/// `certificate` is the DER that names the signing key. INVALID_INPUT for
/// claims that read() would refuse; else what the signer answers.
[[nodiscard]] result<std::string> make(const claims& says,
                                       byte_view certificate,
                                       const signer& sign);

/// Strict: unknown and repeated members, other forms of a value, blanks and
/// padding are `malformed`. Judges no time and no signature.
[[nodiscard]] std::variant<vouch, code> read(std::string_view compact);

/// How far the agent's clock may be ahead of ours: no vouch that was used is
/// good for longer than the claim lasts that it leaves (events/node.hpp).
inline constexpr seconds clock_skew{10};
/// `issued_at` at most clock_skew ahead of `now`, `now` before `expires_at`.
[[nodiscard]] bool is_live(const claims& says, time_point now) noexcept;

[[nodiscard]] bool is_signed_by(const vouch& v, const public_key& key);

}  // namespace bc::pki::vouch
