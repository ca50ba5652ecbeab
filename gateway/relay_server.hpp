#pragma once

#include "actors/ports.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/bundle.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bc::gateway {

struct relay_listener_options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  /// Its internal CA verifies gateways and makes this listener's certificate
  /// (role `api`), anew each day.
  std::shared_ptr<const pki::key_bundle> keys;
  std::vector<std::string> names;  // in that certificate; may be empty
  std::size_t max_connections = 1024;
  /// From one peer address (of IPv6, one /64), handshakes that never end among
  /// them: nobody else is locked out by one host. 0: no limit of its own.
  std::size_t max_connections_per_peer = 128;
  /// On one connection; over it a request is answered UNAVAILABLE at once.
  std::size_t max_in_flight = 8192;
  /// Answers a gateway has not taken; over it the connection ends.
  std::size_t max_queued_bytes = 32 * 1024 * 1024;
  milliseconds handshake_timeout{10'000};
  /// A connection that brought nothing (not even a ping), or took nothing of
  /// what waits for it, for so long is ended.
  milliseconds idle_timeout{15'000};
  int io_threads = 1;
  /// Told, on an I/O thread, of each gateway that begins to listen for notices
  /// (its id) and of each that has gone; null: nobody is.
  std::function<void(const std::string& gateway, bool here)> gateways;
};

/// Where an API process takes what gateways relay: TLS 1.3, a client
/// certificate of the internal CA with role `gateway` required.
class relay_listener {
 public:
  virtual ~relay_listener() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// Gateways are told to ask elsewhere, what is in flight is answered; after
  /// `grace` connections are closed. A second call returns at once.
  virtual void stop(seconds grace) = 0;
};

/// `daemons` and `notices` must outlive the listener; without notices no
/// gateway keeps sessions by it. UNAVAILABLE naming address and port when it
/// cannot listen, INVALID_CONFIG for an address that is none, a name that is
/// none or no keys.
[[nodiscard]] result<std::unique_ptr<relay_listener>> start_relay_listener(
    relay_listener_options options, actors::daemon_port& daemons,
    actors::notice_port* notices = nullptr);

}  // namespace bc::gateway
