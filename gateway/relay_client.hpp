#pragma once

#include "actors/ports.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "gateway/api_address.hpp"
#include "gateway/http_server.hpp"
#include "gateway/relay_watch.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bc::gateway {

struct relay_client_options {
  std::vector<api_address> addresses;
  /// The gateway's certificate of the internal CA (role `gateway`) with its
  /// key, and that CA.
  std::shared_ptr<const tls_identity> identity;
  std::string internal_ca_pem;
  /// Over it a request is answered UNAVAILABLE at once.
  std::size_t max_in_flight = 4096;                // on one connection
  std::size_t max_queued_bytes = 8 * 1024 * 1024;  // not yet sent, on one
  milliseconds connect_timeout{5'000};             // TCP and TLS together
  /// A request's whole time, a second API process included.
  milliseconds request_timeout{25'000};
  milliseconds ping_interval{1'000};
  /// A connection that brought nothing for so long is given up.
  milliseconds ping_timeout{3'000};
  /// Doubles up to the longest, jitter between half and the whole.
  milliseconds first_backoff{100};
  milliseconds longest_backoff{5'000};
  relay_watch_times watch;
};

/// Who hears what sessions must hear of; called on the relay's thread.
class relay_watcher {
 public:
  virtual ~relay_watcher() = default;
  virtual void on_notice(const actors::gateway_notice& notice) = 0;
  /// True: notices come from now on; what happened before may have been missed.
  /// False: none has come for too long, and none will until the next true.
  virtual void on_watch(bool held) = 0;
};

/// The gateway's way to the join service: one long-lived TLS 1.3 connection to
/// each API process, requests multiplexed on it, each sent on the healthy
/// connection with the fewest in flight. The peer must hold a certificate of
/// the internal CA with role `api`; which name it was dialled by says nothing
/// more, since every API process holds the key that makes such certificates.
///
/// A request whose connection broke is sent once more, to another API process:
/// the join service answers the same CSR with the stored answer, so nothing is
/// decided or spent twice. Answers are passed byte for byte. What asks whether
/// a session holds goes to the process that notices come from, which knows at
/// least what it gave notice of.
class relay_client : public actors::daemon_port {
 public:
  /// INVALID_CONFIG for a certificate, key or CA that cannot be used, or no
  /// address. Does not wait for a connection.
  [[nodiscard]] static result<std::unique_ptr<relay_client>> start(
      relay_client_options options);
  [[nodiscard]] virtual bool has_healthy_api() const = 0;
  [[nodiscard]] virtual std::size_t healthy_apis() const = 0;
  /// Requests that were not answered yet.
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
  /// From now on one API process at a time tells this gateway what sessions
  /// must hear of, another when that one is lost. `who` is kept until stop().
  virtual void watch(const std::string& gateway_id,
                     std::shared_ptr<relay_watcher> who) = 0;
  /// What the next connections are opened with; those that stand go on. The log
  /// tells of each API process whether it is reached so. A fault changes
  /// nothing: INVALID_CONFIG as start(), and for a certificate that these CAs
  /// did not make a gateway's. Any thread.
  [[nodiscard]] virtual result<void> renew_tls(
      const tls_identity& identity, const std::string& internal_ca_pem) = 0;
  /// New requests are refused; those in flight have `grace` to be answered,
  /// then they are UNAVAILABLE. A second call returns at once.
  virtual void stop(seconds grace) = 0;
};

}  // namespace bc::gateway
