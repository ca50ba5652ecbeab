#pragma once

#include "base/wire_session.hpp"
#include "daemon/session.hpp"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace bc::daemon {

/// The time in a welcome: its signing key has one of the pins, and signed it
/// together with our nonce. ACCESS_DENIED otherwise.
[[nodiscard]] result<time_point> check_welcome(
    const wire::welcome& welcome,
    const std::vector<std::string>& signing_key_pins, byte_view nonce);

/// What a WebSocket close code of the gateway means.
[[nodiscard]] session_outcome::end end_of_close(std::uint16_t code) noexcept;
/// What it means when the upgrade is answered with this HTTP status.
[[nodiscard]] session_outcome::end end_of_status(int status) noexcept;

/// Many sessions on one thread: a simulated fleet's.
class session_pool {
 public:
  session_pool();
  /// Ends those that still run, within a second.
  ~session_pool();
  session_pool(const session_pool&) = delete;
  session_pool& operator=(const session_pool&) = delete;

  /// As run_session(), but returns at once. The hooks and, once, `done` are
  /// called on the pool's thread and must not block; any thread may begin one.
  void begin(config c, node_identity me, std::string bcd_version,
             session_hooks hooks, std::stop_token stop,
             std::function<void(session_outcome)> done);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace bc::daemon
