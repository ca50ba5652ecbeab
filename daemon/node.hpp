#pragma once

#include "daemon/config.hpp"
#include "daemon/machine_keys.hpp"
#include "daemon/renewal.hpp"
#include "daemon/renewal_plan.hpp"
#include "daemon/session.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>
#include <optional>
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

/// What a daemon runs beside the renewal and the session, from the moment that
/// the identity is known to the end.
class node_side {
 public:
  virtual ~node_side() = default;
  /// The identity was renewed.
  virtual void use(const node_identity& me) = 0;
};

struct node_side_tools {
  const private_dir& folder;  // outlives the side
  /// The server's time at a moment, from what it signed last; nullopt before
  /// it signed any. From any thread.
  std::function<std::optional<time_point>(const clock_reading& at)> server_time;
};

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
  /// Where its keys are and come from.
  key_places keys = {};
  /// The only role whose identity it runs; empty: any.
  std::string role = {};
  /// Begins what runs beside; empty: nothing does.
  std::function<std::unique_ptr<node_side>(const node_identity& me,
                                           const node_side_tools& tools)>
      beside = {};
};

/// `bcd node`: keeps the machine's identity renewed and a session open, joins
/// again by a certificate that is over (rejoin.hpp), until `stop` is asked for
/// or a person is needed. Within a few seconds of a stop it
/// is done, whatever it was waiting for.
[[nodiscard]] node_exit run_node(const config& c, const node_options& options,
                                 std::stop_token stop);

}  // namespace bc::daemon
