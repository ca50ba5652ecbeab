#pragma once

#include "actors/ports.hpp"
#include "gateway/node_session.hpp"
#include "gateway/rate_limit.hpp"
#include "gateway/session_calls.hpp"
#include "gateway/web_socket.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace bc::gateway {

struct session_options {
  session_limits limits;
  std::size_t max_open = 4096;
  std::size_t max_open_per_peer = 2048;  // a whole site may be one address
  /// WebSockets of one certificate: the one it has, and the next ones that may
  /// replace it. A node's older certificates take no place of its newest.
  std::size_t max_per_certificate = 4;
  /// Of one node's, whatever certificates, from one address: who collects
  /// certificates takes no places from the others behind it.
  std::size_t max_per_node_and_peer = 8;
  /// Upgrades of one certificate; over it RATE_LIMITED.
  peer_rate upgrades{10.0 / 60, 10};
};

/// The sessions of one gateway, by node: GET /v1/session comes in here, notices
/// cut them. Any thread; the port must outlive it and its calls.
class session_registry final
    : public web_socket_door,
      public node_session::owner,
      public std::enable_shared_from_this<session_registry> {
 public:
  /// Admits nobody until watched(true).
  [[nodiscard]] static std::shared_ptr<session_registry> make(
      actors::daemon_port& port, session_options options = {});

  /// What an http_server serves them with.
  [[nodiscard]] std::shared_ptr<const web_socket_options> web_socket();
  /// Of this run of the gateway: gw_….
  [[nodiscard]] const std::string& gateway_id() const { return gateway_id_; }

  void hear(const actors::gateway_notice& notice);
  /// True: notices come (again); some may have been missed, so every session is
  /// asked about, and what waits for it fetched. False: none come; all sessions
  /// are ended (1001).
  void watched(bool now);

  [[nodiscard]] bool is_watched() const;

  /// Nobody is admitted any more, all sessions are ended (1001).
  void stop();
  /// After the HTTP server stopped: waits until the join service knows that
  /// the sessions are over; false when that took longer.
  bool drain(milliseconds limit) { return calls_->drain(limit); }

  /// WebSockets that are open.
  [[nodiscard]] std::size_t size() const;

  [[nodiscard]] result<std::shared_ptr<web_socket_user>> admit(
      const web_socket_request& request) override;
  void opened(std::shared_ptr<node_session> one) override;
  void closed(const node_session& one) override;

 private:
  session_registry(actors::daemon_port& port, session_options options);
  using sessions = std::vector<std::shared_ptr<node_session>>;
  [[nodiscard]] sessions of(const std::string& node) const;
  [[nodiscard]] sessions all() const;
  void end_all(const char* reason, const char* why);

  const session_options options_;
  const std::string gateway_id_;
  const std::shared_ptr<session_calls> calls_;

  peer_limiter upgrades_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, sessions> by_node_;  // open ones
  peer_counts by_certificate_;  // admitted, opened or not
  peer_counts by_node_and_peer_;
  bool watched_ = false;
  bool stopping_ = false;
};

}  // namespace bc::gateway
