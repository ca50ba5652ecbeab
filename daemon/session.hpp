#pragma once

#include "base/clock.hpp"
#include "base/wire_session.hpp"
#include "daemon/config.hpp"
#include "daemon/identity_store.hpp"

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

/// A node's session with the gateway, as `bcd node` uses it; session_client.*
/// implements it (spec: joining#join-flow step 6).
namespace bc::daemon {

/// How a session ended, or why there was none.
struct session_outcome {
  enum class end {
    unreachable,  // nothing was sent
    untrusted,    // the gateway's chain or the welcome failed a check
    lost,         // the connection broke, or nobody answered in time
    going_away,   // close 1001: come back
    overloaded,   // close 1013, or HTTP 503
    protocol,     // close 1008, or a frame or an answer that is none of ours
    refused,      // close 4403, HTTP 401 or 403, or a TLS alert about our
                  // certificate: the identity is not (any more) a node's
    superseded,   // close 4409: a newer session of this node
    stopped,      // the stop was asked for
  };
  end what = end::unreachable;
  std::string why;        // in words, for a log; nothing that steers a terminal
  bool welcomed = false;  // a genuine welcome came
};

/// What a session tells and asks; called on the thread of run_session().
struct session_hooks {
  /// The server's time: signed by the pinned key, bound to our nonce.
  std::function<void(time_point server_time)> server_time;
  std::function<void(const wire::welcome&)> welcomed;
  /// A command that is genuine and for this node; it may have expired. It may
  /// come again: the handler knows by its id, and must not block. Empty:
  /// commands are not taken.
  std::function<void(const wire::command_body&)> command = {};
  /// The results that the server does not have yet; asked with the welcome, at
  /// each heartbeat, and when the session is told to.
  std::function<std::vector<wire::command_result>()> results = {};
  /// The server has this one: results() no longer says it.
  std::function<void(const std::string& command_id)> recorded = {};
  /// Is given what tells this session to ask for results, from any thread;
  /// before the session ends, an empty function in its place.
  std::function<void(std::function<void()>)> ask_for_results = {};
  /// The machine's clock corrected by what was signed last; for `hello` and the
  /// expiry of commands.
  std::function<time_point()> now;
};

/// One session, until it is over: connects (TLS 1.3, pins, our certificate),
/// says hello, keeps the heartbeat. Ends within a second once `stop` is asked
/// for. Never throws.
[[nodiscard]] session_outcome run_session(const config& c,
                                          const node_identity& me,
                                          const std::string& bcd_version,
                                          const session_hooks& hooks,
                                          std::stop_token stop);

/// How long to wait before the next session. `failures` counts the ones without
/// a welcome in a row, this one among them (0: this one was welcomed).
/// `random` is in [0, 1000): half to the whole of the wait. Doubles from 1 s to
/// 5 min; `refused` and `superseded` never less than 1 min, so that two
/// machines with one identity do not push each other out without pause
/// (CASES 68, 69).
[[nodiscard]] milliseconds session_wait(const session_outcome& last,
                                        int failures, unsigned random);

}  // namespace bc::daemon
