#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

/// What a gateway and an API process say to each other: frames over one TLS
/// connection, a length of 4 bytes (big endian) and so many bytes of one
/// message. Pure; reads bytes of a peer that may be hostile.
namespace bc::gateway::relay {

/// Named in ALPN, so that two versions never talk past each other.
inline constexpr std::string_view protocol = "bc-relay/1";

/// What a request is: the number of an actors::daemon_request, of which these
/// are some. A process that does not serve a kind answers it 503.
inline constexpr std::uint8_t kind_join = 1;
inline constexpr std::uint8_t kind_renew = 2;
inline constexpr std::uint8_t kind_join_challenge = 3;

inline constexpr std::size_t max_correlation = 128;
inline constexpr std::size_t max_certificate = 8 * 1024;
/// A session's frame with what the gateway puts around it.
inline constexpr std::size_t max_request_body = 65 * 1024;
inline constexpr std::size_t max_name = 64;  // of a gateway, node, session
inline constexpr std::size_t max_answer_body = 256 * 1024;
inline constexpr std::size_t length_bytes = 4;
/// The longest message, without its length; and the longest of a gateway's.
inline constexpr std::size_t max_message = max_answer_body + 64;
inline constexpr std::size_t max_request =
    max_correlation + max_certificate + max_request_body + 64;

/// Gateway to API process. An id is used once on a connection.
struct request {
  std::uint64_t id = 0;
  std::uint8_t kind = kind_join;
  std::string correlation;
  std::string client_certificate;  // DER, empty without
  std::string body;
  bool operator==(const request&) const = default;
};
/// API process to gateway, in any order.
struct answer {
  std::uint64_t id = 0;
  std::uint16_t status = 503;
  std::string body;
  bool operator==(const answer&) const = default;
};
/// Gateway to API process, which gives the number back at once.
struct ping {
  std::uint64_t number = 0;
  bool operator==(const ping&) const = default;
};
struct pong {
  std::uint64_t number = 0;
  bool operator==(const pong&) const = default;
};
/// API process to gateway: ask elsewhere; what I have I answer.
struct draining {
  bool operator==(const draining&) const = default;
};
/// Gateway to API process: tell me what sessions must hear of. Answered by
/// `watching` once it does; one that never will does not answer.
struct watch {
  std::string gateway;  // its id
  bool operator==(const watch&) const = default;
};
struct watching {
  bool operator==(const watching&) const = default;
};
/// API process to gateway, which asked for it: an actors::gateway_notice.
struct notice {
  std::uint8_t what = 1;
  bool superseded = false;
  std::string node;
  std::string keep;
  bool operator==(const notice&) const = default;
};
using message = std::variant<request, answer, ping, pong, draining, watch,
                             watching, notice>;

/// The frame of a message. A field over its bound is a bug of the caller:
/// check `fits` first.
[[nodiscard]] std::string encode(const message& m);
[[nodiscard]] bool fits(const request& r) noexcept;
[[nodiscard]] bool fits(const answer& a) noexcept;
[[nodiscard]] bool fits(const notice& n) noexcept;

/// The message in a frame's bytes. INVALID_INPUT for anything else: an unknown
/// type, a field over its bound, too few bytes, bytes after the last field.
[[nodiscard]] result<message> decode(byte_view bytes);

/// Cuts a stream of bytes into messages; holds one frame at most beyond what
/// it was last given.
class frame_reader {
 public:
  /// Longer messages are refused as soon as their length is known.
  explicit frame_reader(std::size_t limit = max_message) : limit_(limit) {}
  void take(byte_view bytes);
  /// The next whole message; nullopt when more bytes are needed. INVALID_INPUT
  /// once, and from then on, when the stream is not one of ours.
  [[nodiscard]] result<std::optional<message>> next();

 private:
  std::size_t limit_;
  std::string buffer_;
  std::size_t read_ = 0;
  bool broken_ = false;
};

}  // namespace bc::gateway::relay
