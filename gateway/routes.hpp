#pragma once

#include "actors/ports.hpp"
#include "gateway/http_server.hpp"
#include "pki/bundle.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bc::gateway {

inline constexpr std::string_view base_path = "/api/compute";
inline constexpr std::size_t max_api_body = 256 * 1024;

/// What /.well-known/better-compute says.
struct well_known {
  std::string version;
  std::shared_ptr<const pki::key_bundle> keys;  // null: no `join` section
  std::optional<std::string> gateway_url;       // nullopt: no `gateway` section
  std::string gateway_server_name;  // empty: the host of gateway_url
};

/// GET {basePath}/.well-known/better-compute, as in joining#the-join-key.
[[nodiscard]] std::string well_known_document(const well_known& w);

/// The API listener: POST {basePath}/{group}/{method}, the well-known document,
/// /healthz; any other path is NOT_FOUND. Gives every request an id (header
/// x-request-id in the answer).
[[nodiscard]] http_handler make_api_handler(actors::api_port& api,
                                            well_known document);

/// The daemons' listener: POST /v1/join, /healthz.
[[nodiscard]] http_handler make_daemon_handler(actors::join_port& joins);

/// {"error":{"code","message","requestId"}} for both listeners.
[[nodiscard]] std::string error_body(std::string_view code,
                                     std::string_view message,
                                     std::string_view request_id);

}  // namespace bc::gateway
