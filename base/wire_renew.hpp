#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/wire.hpp"
#include "base/wire_tpm.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Renewal in the daemon protocol (spec: joining#renewal).
namespace bc::wire {

/// POST /v1/renew, over mTLS with the current certificate. `pop_signature` is
/// by the current key, purpose `renew-pop`, over the SHA-256 of `csr`, the
/// node id and the decimal text of `client_time_ms`.
struct renew_request {
  std::string node_id;
  bytes csr;                             // DER, of the new key
  std::vector<bytes> certificate_chain;  // DER, the current one, leaf first
  std::int64_t client_time_ms = 0;
  bytes pop_signature;  // 64 bytes
  /// For a certificate that names an AK: that AK's word on the new key.
  std::optional<key_attestation> attestation = {};
};

[[nodiscard]] std::string encode(const renew_request& request);
/// INVALID_INPUT with the path for a body that is not well formed, as
/// decode_join_request; a chain has 1 to 4 members of at most 4 KiB.
[[nodiscard]] result<renew_request> decode_renew_request(std::string_view body);

/// What is answered is a join_answer: `renewed` with a joined_body signed under
/// the purpose `renew-response`, or `failed`.
inline constexpr std::string_view renew_refused_message = "Renew refused";

}  // namespace bc::wire
