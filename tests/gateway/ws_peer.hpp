#pragma once

#include "tests/gateway/tls_peer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bc::gateway::testing {

/// A frame as RFC 6455 section 5.2 has it; masked, as a client's must be.
struct ws_frame {
  int opcode = 1;  // 0 continuation, 1 text, 2 binary, 8 close, 9 ping, 10 pong
  std::string payload;
  bool fin = true;
  bool masked = true;
  int reserved = 0;
};

inline std::string frame_bytes(const ws_frame& f) {
  std::string out;
  out += static_cast<char>((f.fin ? 0x80 : 0) | (f.reserved << 4) | f.opcode);
  const auto size = f.payload.size();
  const int mask = f.masked ? 0x80 : 0;
  if (size < 126) {
    out += static_cast<char>(mask | static_cast<int>(size));
  } else if (size < 65'536) {
    out += static_cast<char>(mask | 126);
    out += static_cast<char>(size >> 8);
    out += static_cast<char>(size & 0xff);
  } else {
    out += static_cast<char>(mask | 127);
    for (int shift = 56; shift >= 0; shift -= 8)
      out += static_cast<char>((size >> shift) & 0xff);
  }
  if (!f.masked)
    return out + f.payload;
  constexpr std::string_view key = "\x11\x22\x33\x44";
  out += key;
  for (std::size_t i = 0; i < size; ++i)
    out += static_cast<char>(f.payload[i] ^ key[i % 4]);
  return out;
}

inline std::string upgrade_text(const std::string& protocol = "bc-session.1",
                                const std::string& more = {}) {
  return "GET /v1/session HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
         "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
         "Sec-WebSocket-Protocol: " +
         protocol + "\r\n" + more + "\r\n";
}

/// A WebSocket client that sends exactly what it is told to.
class ws_peer {
 public:
  ws_peer(std::uint16_t port, const tls_identity* identity)
      : tls_(port, {.identity = identity}) {}
  /// Upgraded, or a failure.
  static std::unique_ptr<ws_peer> open(std::uint16_t port,
                                       const tls_identity* identity) {
    auto out = std::make_unique<ws_peer>(port, identity);
    auto answer = out->upgrade();
    INFO(answer);
    REQUIRE(answer.starts_with("HTTP/1.1 101 "));
    return out;
  }

  /// The answer's head, and its body when it is a refusal.
  std::string upgrade(const std::string& request = upgrade_text()) {
    tls_.send(request);
    while (buffer_.find("\r\n\r\n") == buffer_.npos && more()) {
    }
    auto end = buffer_.find("\r\n\r\n");
    if (end == buffer_.npos)
      return std::exchange(buffer_, {});
    auto head = buffer_.substr(0, end + 4);
    buffer_.erase(0, end + 4);
    if (!head.starts_with("HTTP/1.1 101 ")) {
      while (more()) {
      }
      head += std::exchange(buffer_, {});
    }
    return head;
  }

  bool send(const ws_frame& f) { return tls_.send(frame_bytes(f)); }
  bool send_raw(std::string_view bytes) { return tls_.send(bytes); }
  bool say(const std::string& text) { return send({.payload = text}); }

  /// The next frame; nullopt when the connection is over.
  std::optional<ws_frame> read() {
    if (!have(2))
      return std::nullopt;
    auto at = [this](std::size_t i) {
      return static_cast<std::uint8_t>(buffer_[i]);
    };
    ws_frame out;
    out.fin = (at(0) & 0x80) != 0;
    out.opcode = at(0) & 0x0f;
    out.masked = (at(1) & 0x80) != 0;
    std::size_t size = at(1) & 0x7f;
    std::size_t head = 2;
    if (size == 126) {
      if (!have(4))
        return std::nullopt;
      size = static_cast<std::size_t>(at(2) << 8 | at(3));
      head = 4;
    } else if (size == 127) {
      if (!have(10))
        return std::nullopt;
      size = 0;
      for (std::size_t i = 2; i < 10; ++i)
        size = size << 8 | at(i);
      head = 10;
    }
    if (!have(head + size))
      return std::nullopt;
    out.payload = buffer_.substr(head, size);
    buffer_.erase(0, head + size);
    return out;
  }

  /// The next text frame; empty when there is none.
  std::string read_text() {
    while (auto f = read())
      if (f->opcode == 1)
        return f->payload;
    return {};
  }

  /// Reads on; the code of the close frame, 0 when the connection ended without
  /// one. It is not answered.
  int read_close() {
    while (auto f = read())
      if (f->opcode == 8)
        return f->payload.size() < 2
                   ? 1005
                   : static_cast<std::uint8_t>(f->payload[0]) << 8 |
                         static_cast<std::uint8_t>(f->payload[1]);
    return 0;
  }

  /// Goes without a word.
  [[nodiscard]] bool connected() const { return tls_.connected(); }

 private:
  bool more() {
    auto part = tls_.read();
    buffer_ += part;
    return !part.empty();
  }
  bool have(std::size_t size) {
    while (buffer_.size() < size)
      if (!more())
        return false;
    return true;
  }

  tls_peer tls_;
  std::string buffer_;
};

}  // namespace bc::gateway::testing
