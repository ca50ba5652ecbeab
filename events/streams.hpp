#pragma once

#include "base/ids.hpp"
#include "events/journal.hpp"

#include <string>
#include <string_view>

namespace bc::events {

[[nodiscard]] inline stream_id stream_of(const tenant_id& id) {
  return "tenant:" + id.str();
}
[[nodiscard]] inline stream_id stream_of(const site_id& id) {
  return "site:" + id.str();
}
[[nodiscard]] inline stream_id stream_of(const pool_id& id) {
  return "pool:" + id.str();
}
[[nodiscard]] inline stream_id stream_of(const credential_id& id) {
  return "credential:" + id.str();
}
[[nodiscard]] inline stream_id stream_of(const join_token_id& id) {
  return "join_token:" + id.str();
}
[[nodiscard]] inline stream_id stream_of(const join_request_id& id) {
  return "join_request:" + id.str();
}
[[nodiscard]] inline stream_id stream_of(const node_id& id) {
  return "node:" + id.str();
}
[[nodiscard]] inline stream_id stream_of(const command_id& id) {
  return "command:" + id.str();
}

[[nodiscard]] inline stream_id boot_lease_stream(const site_id& site) {
  return "boot_lease:" + site.str();
}

/// The one stream of the key bundle.
inline constexpr std::string_view pki_stream = "pki";

[[nodiscard]] inline stream_id refusal_stream(const tenant_id& tenant,
                                              std::string_view attestor,
                                              std::string_view reason) {
  return "refusal:" + tenant.str() + ":" + std::string{attestor} + ":" +
         std::string{reason};
}

/// "join_token" of "join_token:jt_…".
[[nodiscard]] inline std::string_view kind_of(std::string_view stream) {
  return stream.substr(0, stream.find(':'));
}

}  // namespace bc::events
