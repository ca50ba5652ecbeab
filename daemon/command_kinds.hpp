#pragma once

#include "base/result.hpp"
#include "base/wire_session.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <map>
#include <stop_token>
#include <string>

namespace bc::daemon {

/// A check of a pool's acceptance: a fault says in words what is wrong, for the
/// log of the machine. Ends early when the stop is asked for.
using acceptance_check = std::function<result<void>(const std::stop_token&)>;

/// What commands are carried out with.
struct command_tools {
  std::string version;  // of bcd
  std::function<result<pki::hardware_claims>()> hardware;
  std::map<std::string, acceptance_check> checks;  // by name
  /// A line for the log.
  std::function<void(const std::string&)> say;
};

/// Carries out one command:
/// - `ping`: {"pong":true,"version":"…"}
/// - `inventory.collect`: {"claims":{…}} as in a join, or {"error":…} in words
/// - `acceptance.run`, payload {"checks":["name",…]}:
///   {"passed":true|false,"failed":["name",…]}; succeeded however it went. A
///   check that is not known failed.
/// - anything else: not succeeded, {"error":"unknown-kind"}; a payload that is
///   none of its kind's: {"error":"bad-payload"}.
[[nodiscard]] wire::command_result carry_out(const wire::command_body& command,
                                             const command_tools& tools,
                                             const std::stop_token& stop);

}  // namespace bc::daemon
