#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "gateway/http_server.hpp"
#include "gateway/rate_limit.hpp"
#include "gateway/relay_client.hpp"
#include "gateway/session_registry.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace bc::gateway {

/// What `better-compute gateway` is made of. It holds no key that opens a seal
/// or signs: a serving key, a key of its own for the relay, two CA
/// certificates.
struct gateway_options {
  std::string address = "0.0.0.0";
  std::uint16_t port = 0;
  /// What daemons see: leaf, then the serving CA, which they pinned.
  std::shared_ptr<const tls_identity> serving;
  /// Daemons that have a certificate present it; verified against these.
  std::string node_ca_pem;
  relay_client_options relay;
  peer_rate joins;
  std::size_t max_connections = 4096;
  std::size_t max_connections_per_peer = 256;
  /// Sessions come beside these connections.
  session_options sessions;
  milliseconds read_timeout{15'000};
  int io_threads = 1;
};

class gateway_node {
 public:
  virtual ~gateway_node() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// True while some API process answers pings; also what /readyz says.
  [[nodiscard]] virtual bool has_healthy_api() const = 0;
  [[nodiscard]] virtual std::size_t healthy_apis() const = 0;
  /// True while an API process tells whose session is over.
  [[nodiscard]] virtual bool is_watched() const = 0;
  /// Requests that were not answered yet.
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
  [[nodiscard]] virtual std::size_t sessions() const = 0;
  /// What the files of gateway_options hold by now, for the connections that
  /// come; those that stand go on, sessions too. A fault changes nothing. Any
  /// thread.
  [[nodiscard]] virtual result<void> renew_serving(
      const tls_identity& serving, const std::string& node_ca_pem) = 0;
  [[nodiscard]] virtual result<void> renew_internal(
      const tls_identity& identity, const std::string& internal_ca_pem) = 0;
  /// No new connections; requests in flight are answered, sessions told to come
  /// back elsewhere, within `grace`.
  virtual void stop(seconds grace) = 0;
};

/// INVALID_CONFIG for an identity or CA that cannot be used, UNAVAILABLE when
/// it cannot listen. Serves before any API process is reached: until then
/// joins are UNAVAILABLE, which daemons retry.
[[nodiscard]] result<std::unique_ptr<gateway_node>> start_gateway(
    gateway_options options);

}  // namespace bc::gateway
