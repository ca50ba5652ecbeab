#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/wire.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// A node's session in the daemon protocol: GET /v1/session upgrades to a
/// WebSocket (RFC 6455, subprotocol `bc-session.1`), over mTLS with the current
/// certificate; each text frame is one JSON object with a `type`. A type that
/// is not known is ignored.
namespace bc::wire {

// A dot: RFC 6455 section 4.1 has no slash in it.
inline constexpr std::string_view session_protocol = "bc-session.1";
inline constexpr std::size_t max_session_frame = 64 * 1024;
inline constexpr std::size_t max_command_output = 32 * 1024;

// Daemon to gateway.

/// The first frame. `nonce` (32 random bytes) stands where a join has the
/// SHA-256 of its CSR: the welcome's signed time is bound to it.
struct hello {
  std::string version;  // of bcd
  std::int64_t client_time_ms = 0;
  bytes nonce;
};
/// Sent each `heartbeat_seconds`; the gateway gives it back.
struct heartbeat {
  std::uint64_t number = 0;
};
/// What became of a command; sent until `recorded` comes.
struct command_result {
  std::string command_id;
  bool succeeded = false;
  std::string output;  // text or JSON, at most 32 KiB
};

// Gateway to daemon.

struct welcome {
  std::string session_id;
  int heartbeat_seconds = 15;
  bytes signing_key;  // DER SPKI, of `time`
  server_time time;   // bound to the nonce
};
/// The exact bytes of a command_body, signed by the command-signing key
/// (purpose `command`).
struct command {
  std::string body;
  bytes signature;
};
/// The result is in the journal.
struct recorded {
  std::string command_id;
};

using from_daemon = std::variant<hello, heartbeat, command_result>;
using to_daemon = std::variant<welcome, heartbeat, command, recorded>;

/// What a command is; inside `command::body`.
struct command_body {
  std::string command_id;  // cmd_…
  std::string node_id;
  std::string kind;     // "ping", "inventory.collect", …
  std::string payload;  // JSON object, at most 16 KiB
  std::int64_t issued_at_ms = 0;
  std::int64_t expires_at_ms = 0;
};

[[nodiscard]] std::string encode(const from_daemon& m);
[[nodiscard]] std::string encode(const to_daemon& m);
[[nodiscard]] std::string encode(const command_body& c);
/// INVALID_INPUT for a frame that is not well formed; nullopt: a type that is
/// not known.
[[nodiscard]] result<std::optional<from_daemon>> decode_from_daemon(
    std::string_view frame);
[[nodiscard]] result<std::optional<to_daemon>> decode_to_daemon(
    std::string_view frame);
[[nodiscard]] result<command_body> decode_command_body(std::string_view text);

/// Why a gateway ends a session: the WebSocket's close code.
enum class session_close : std::uint16_t {
  going_away = 1001,  // the gateway stops: come back
  bad_frame = 1008,   // not a frame of this protocol, or one too large
  overloaded = 1013,  // try again later
  refused = 4403,     // the identity is not (any more) a node's
  superseded = 4409,  // a newer session of the node took over
};

// Gateway to API process: the bodies of daemon_call (actors/ports.hpp) for a
// session; the client certificate travels beside them.

/// daemon_request::hello; answered 200 with a welcome frame, 403 (close with
/// `refused`) or 503 (close with `overloaded`).
struct session_hello {
  std::string session_id;  // minted by the gateway: sess_…
  std::string gateway_id;  // of this run of the gateway
  std::string address;     // the peer's
  hello message;
};
/// daemon_request::session_end; answered 200.
struct session_end {
  std::string session_id;
  std::string node_id;
  std::string reason;  // "closed", "lost", "cut", "superseded", "stopping"
};
/// daemon_request::check_session, of a session that may have missed a notice;
/// answered 200 (it is the node's still), 403 (close with `refused`), 409
/// (close with `superseded`) or 503 (nobody knows: ask again).
struct session_check {
  std::string session_id;
  std::string node_id;
};
/// daemon_request::fetch_commands; answered 200 with fetched_commands.
struct fetch_commands {
  std::string session_id;
  std::string node_id;
};
struct fetched_commands {
  std::vector<command> commands;
  /// Kinds that the node's certificate lets in (events/command_kind.hpp), for
  /// the gateway to look at once more; empty: every kind.
  std::vector<std::string> allowed_kinds = {};
  /// More wait than fit into one answer.
  bool more = false;
};
/// daemon_request::command_result; answered 200 once it is in the journal, 404
/// for what is no command of this node (nobody asks for it again).
struct relayed_result {
  std::string session_id;
  std::string node_id;
  command_result what;
};
[[nodiscard]] std::string encode(const session_hello& m);
[[nodiscard]] std::string encode(const session_end& m);
[[nodiscard]] std::string encode(const session_check& m);
[[nodiscard]] std::string encode(const fetch_commands& m);
[[nodiscard]] std::string encode(const fetched_commands& m);
[[nodiscard]] std::string encode(const relayed_result& m);
[[nodiscard]] result<session_hello> decode_session_hello(std::string_view text);
[[nodiscard]] result<session_end> decode_session_end(std::string_view text);
[[nodiscard]] result<session_check> decode_session_check(std::string_view text);
[[nodiscard]] result<fetch_commands> decode_fetch_commands(
    std::string_view text);
[[nodiscard]] result<fetched_commands> decode_fetched_commands(
    std::string_view text);
[[nodiscard]] result<relayed_result> decode_relayed_result(
    std::string_view text);

}  // namespace bc::wire
