#pragma once

#include "actors/ports.hpp"
#include "gateway/downloads.hpp"
#include "gateway/event_stream.hpp"
#include "gateway/http_server.hpp"
#include "gateway/revocation_list.hpp"
#include "pki/bundle.hpp"

#include <functional>
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

/// What /readyz answers: 200 or 503 with this JSON object.
struct readiness {
  bool ready = true;
  std::string body = R"({"status":"ok"})";
};

/// What a server may add to its listeners. The functions run on an I/O thread
/// and must not block: they tell what another thread has found out.
struct api_extras {
  std::function<readiness()> readyz;     // empty: always ready
  std::function<std::string()> metrics;  // empty: /metrics is NOT_FOUND
  /// Null: the handler makes one that nobody wakes.
  std::shared_ptr<event_feed> events;
  /// Null: every download is NOT_FOUND.
  std::shared_ptr<downloads> programs;
  find_revocation_list revoked;  // empty: every list is NOT_FOUND
};
struct daemon_extras {
  std::function<readiness()> readyz;  // empty: always ready
};

/// The API listener: POST {basePath}/{group}/{method}; GET of the well-known
/// document, {basePath}/events/stream, {basePath}/openapi.json,
/// {basePath}/asyncapi.json, {basePath}/schemas/events/{type}.json and
/// {basePath}/downloads/bcd/{version}/linux-{arch} and
/// {basePath}/pki/crl[/{authority}]; /healthz, /readyz, /metrics; any other
/// path is NOT_FOUND. Gives every request an id (header x-request-id in the
/// answer).
[[nodiscard]] http_handler make_api_handler(actors::api_port& api,
                                            well_known document,
                                            api_extras extras = {});

/// The daemons' listener: POST /v1/join, /v1/renew, /v1/join-challenge and,
/// with a client certificate, /v1/boot-lease; /healthz, /readyz.
[[nodiscard]] http_handler make_daemon_handler(actors::daemon_port& daemons,
                                               daemon_extras extras = {});

/// What a path of these listeners is served for, "GET, HEAD"; empty: it is no
/// path of theirs (server_options::allow).
[[nodiscard]] std::string api_methods(std::string_view path);
[[nodiscard]] std::string daemon_methods(std::string_view path);

/// {"error":{"code","message","requestId"}} for both listeners.
[[nodiscard]] std::string error_body(std::string_view code,
                                     std::string_view message,
                                     std::string_view request_id);

}  // namespace bc::gateway
