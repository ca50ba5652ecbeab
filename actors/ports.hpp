#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

/// How the gateway reaches the actors. No CAF here: the gateway knows these
/// two interfaces alone, and a relay can take the first one's place.
namespace bc::actors {

/// What a daemon asks of the control plane; the numbers travel in the relay
/// (gateway/relay_codec.hpp).
enum class daemon_request : std::uint8_t {
  join = 1,            // POST /v1/join
  renew = 2,           // POST /v1/renew
  join_challenge = 3,  // POST /v1/join-challenge
  hello = 4,           // a session begins (base/wire_session.hpp, this too)
  session_end = 5,     // a session is over
  fetch_commands = 6,  // what waits for a session's node
  command_result = 7,  // what became of a command
  check_session = 8,   // of a session that may have missed a notice
  boot_lease = 9,      // POST /v1/boot-lease
};

/// nullopt: no number of ours.
[[nodiscard]] constexpr std::optional<daemon_request> daemon_request_of(
    std::uint8_t number) noexcept {
  const auto what = static_cast<daemon_request>(number);
  switch (what) {
    case daemon_request::join:
    case daemon_request::renew:
    case daemon_request::join_challenge:
    case daemon_request::hello:
    case daemon_request::session_end:
    case daemon_request::fetch_commands:
    case daemon_request::command_result:
    case daemon_request::check_session:
    case daemon_request::boot_lease:
      return what;
  }
  return std::nullopt;
}

/// A daemon's message as it came.
struct daemon_call {
  std::string body;
  std::string correlation;  // request id
  /// DER of the client certificate that the gateway verified; empty without.
  std::string client_certificate = {};
  daemon_request what = daemon_request::join;
};
struct daemon_reply {
  int status = 503;
  std::string body;  // JSON
};
class daemon_port {
 public:
  virtual ~daemon_port() = default;
  /// `done` runs once, on any thread, also when the service is overloaded or
  /// stopping (503 UNAVAILABLE), or does not serve such requests.
  virtual void call(daemon_call call,
                    std::function<void(daemon_reply)> done) = 0;
};

/// What every gateway must hear of at once, whichever API process it asks
/// (DESIGN 7). A notice may come late, from what another process did up to a
/// second ago: whom it names is asked about (check_session) before it is ended.
struct gateway_notice {
  enum class kind : std::uint8_t {
    cut = 1,       // end this node's sessions, all but `keep`
    commands = 2,  // fetch_commands for this node's session
  };
  kind what = kind::cut;
  std::string node_id;
  std::string keep;         // a session id, or empty
  bool superseded = false;  // of `cut`: why; else the identity is over
};
/// Where notices come from: the events this process commits and tails.
class notice_port {
 public:
  virtual ~notice_port() = default;
  using hear = std::function<void(const gateway_notice&)>;
  /// `each` runs on any thread, must be quick, and is never called again once
  /// the returned watch is gone.
  [[nodiscard]] virtual std::shared_ptr<void> watch(hear each) = 0;
  /// How old what it tells may be: the time since all of the journal was heard
  /// of, 0 where no other process writes to it. Any thread.
  [[nodiscard]] virtual std::chrono::milliseconds age() const = 0;
};

/// POST {basePath}/{group}/{method} as it came.
struct api_call {
  std::string group;
  std::string method;
  std::string authorization;  // the header's value, empty when absent
  std::string body;
  std::string request_id;
  std::string min_position;  // the header x-min-position, empty when absent
};
struct api_reply {
  int status = 503;
  std::string body;   // JSON
  bool told = false;  // why is in the log already
};
/// events.list looks at so many of the journal's rows in one call, however few
/// events it finds.
inline constexpr std::size_t max_events_scanned = 5'000;
class api_port {
 public:
  virtual ~api_port() = default;
  virtual void call(api_call call, std::function<void(api_reply)> done) = 0;
};

}  // namespace bc::actors
