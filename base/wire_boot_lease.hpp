#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// POST /v1/boot-lease in the daemon protocol, over mTLS with the site agent's
/// current certificate: one agent of a site at a time boots its machines and
/// vouches for them (spec: ATTESTATION section 4).
namespace bc::wire {

struct boot_lease_request {
  std::string node_id;   // the agent's
  std::string site_id;   // the site it serves
  bool release = false;  // gives the lease up, if it is held
};
[[nodiscard]] std::string encode(const boot_lease_request& request);
/// INVALID_INPUT with the path for a body that is not well formed, as
/// decode_join_request.
[[nodiscard]] result<boot_lease_request> decode_boot_lease_request(
    std::string_view body);

/// The body of a 200. Without a holder, the lease is free: `holder` is empty,
/// `expires_ms` is zero.
struct boot_lease_body {
  bool held = false;       // by the agent that asked
  std::int64_t epoch = 0;  // grows by one with each acquisition; 0: none yet
  std::int64_t expires_ms = 0;
  std::string holder;  // a node id
};
[[nodiscard]] std::string encode(const boot_lease_body& body);
[[nodiscard]] result<boot_lease_body> decode_boot_lease_body(
    std::string_view body);

/// Every refusal (403, ACCESS_DENIED) has this text.
inline constexpr std::string_view boot_lease_refused_message =
    "Boot lease refused";

}  // namespace bc::wire
