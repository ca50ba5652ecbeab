#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

/// WebSockets of the HTTP server (RFC 6455), for clients that showed a
/// certificate. What is said on them is the door's.
namespace bc::gateway {

/// How a WebSocket ended.
enum class socket_end {
  by_peer,  // it closed in good order
  by_us,    // close(), or a frame against the protocol
  lost,     // the connection broke, or took nothing in time
};

/// One open WebSocket. Everything but post() is called on its strand.
class web_socket {
 public:
  virtual ~web_socket() = default;
  /// A text frame. With more than `max_queued` bytes unsent, or one that is not
  /// taken within `write_timeout`, the connection is cut.
  virtual void send(std::string text) = 0;
  /// Says why and ends it; cut off when it is not over within `close_timeout`,
  /// also when a write is stuck. What still waited to be sent may be lost.
  virtual void close(std::uint16_t code, std::string why) = 0;
  /// Calls the user's on_deadline() then, unless another time is set before.
  virtual void expire_in(milliseconds time) = 0;
  /// Runs `f` on the strand while it is open; any thread.
  virtual void post(std::function<void()> f) = 0;
};

/// Who speaks on it; all calls are on its strand.
class web_socket_user {
 public:
  virtual ~web_socket_user() = default;
  virtual void on_open(const std::shared_ptr<web_socket>& socket) = 0;
  /// A whole message, valid UTF-8.
  virtual void on_text(std::string_view text) = 0;
  /// A ping or pong came; the ping is answered.
  virtual void on_control() = 0;
  virtual void on_deadline() = 0;
  /// Once, also when it never opened, and the last call: the connection is gone
  /// when it comes.
  virtual void on_closed(socket_end how) = 0;
};

/// Who asks for one; the certificate (DER) was verified by TLS.
struct web_socket_request {
  std::string peer_address;
  std::string client_certificate;
};
class web_socket_door {
 public:
  virtual ~web_socket_door() = default;
  /// Who is to speak, or the refusal. On an I/O thread; must not block.
  [[nodiscard]] virtual result<std::shared_ptr<web_socket_user>> admit(
      const web_socket_request& request) = 0;
};

struct web_socket_options {
  std::string path;
  std::string protocol;  // the subprotocol a client must ask for
  std::shared_ptr<web_socket_door> door;
  std::size_t max_message = 64 * 1024;
  /// Beside the server's other connections. Over it: UNAVAILABLE.
  std::size_t max_open = 4096;
  /// From one peer address (of IPv6, one /64), over it RATE_LIMITED; 0: no
  /// limit of its own.
  std::size_t max_open_per_peer = 0;
  std::size_t max_queued = 256 * 1024;
  milliseconds write_timeout{10'000};
  milliseconds close_timeout{1'000};
  /// For frames that are no text. One that is against RFC 6455 or too large
  /// ends with 1002, 1007 or 1009.
  std::uint16_t bad_frame_code = 1008;
  std::uint16_t going_away_code = 1001;
};

}  // namespace bc::gateway
