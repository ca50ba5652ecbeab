#pragma once

#include "daemon/config.hpp"
#include "daemon/renewal.hpp"
#include "daemon/session.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <stop_token>
#include <string>

namespace bc::daemon {

/// Why `bcd node` ended; its exit codes, beside those of `bcd join`.
enum class node_exit {
  stopped = 0,       // asked to
  usage = 2,         // arguments or configuration
  local = 7,         // data folder, another bcd, not joined: may pass by itself
  needs_person = 9,  // the certificate is over, or the identity damaged
};

using session_runner =
    std::function<session_outcome(const config&, const node_identity&,
                                  const session_hooks&, std::stop_token)>;

struct node_options {
  /// A line for the log.
  std::function<void(const std::string&)> say;
  /// "READY=1", "STATUS=…", "STOPPING=1" (service_notice.hpp).
  std::function<void(const std::string&)> notify;
  /// Keeps a session beside the renewal; empty: none.
  session_runner session;
  /// Reads the machine's claims; empty: no commands are taken, and nothing
  /// joins again.
  std::function<result<pki::hardware_claims>()> hardware;
  std::string version;  // of bcd, for what commands tell
  /// POST /v1/renew to the configured gateway when empty.
  renew_transport send;
  /// POST of a path to the configured gateway, without a client certificate,
  /// when empty. Used where `hardware` is given.
  std::function<exchange(std::string_view path, std::string_view body)> post =
      {};
};

/// `bcd node`: keeps the machine's identity renewed and a session open, joins
/// again by a certificate that is over (rejoin.hpp), until `stop` is asked for
/// or a person is needed. Within a few seconds of a stop it
/// is done, whatever it was waiting for.
[[nodiscard]] node_exit run_node(const config& c, const node_options& options,
                                 std::stop_token stop);

}  // namespace bc::daemon
