#pragma once

#include "gateway/http_server.hpp"
#include "gateway/session_registry.hpp"
#include "ops/serve/control_plane.hpp"
#include "pki/bundle.hpp"

#include <cstdint>
#include <memory>

namespace bc::dev {

/// A gateway without a relay: what machines send comes straight to the actors
/// of this process, and what these tell of sessions straight to it.
class local_gateway {
 public:
  /// `plane` must outlive it. INVALID_CONFIG, UNAVAILABLE as http_server.
  [[nodiscard]] static result<std::unique_ptr<local_gateway>> start(
      gateway::server_options options, serve::control_plane& plane,
      const pki::key_bundle& keys);
  ~local_gateway() { stop(seconds{0}); }
  local_gateway(const local_gateway&) = delete;
  local_gateway& operator=(const local_gateway&) = delete;

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  /// Requests in flight are answered, sessions told to come back, within
  /// `grace`. A second call returns at once.
  void stop(seconds grace);

 private:
  explicit local_gateway(serve::control_plane& plane);

  serve::control_plane& plane_;
  std::shared_ptr<gateway::session_registry> sessions_;
  std::shared_ptr<void> watch_;
  std::unique_ptr<gateway::http_server> server_;
  bool stopped_ = false;
};

}  // namespace bc::dev
