#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace bc::daemon {

/// How renewal stands.
enum class renewal_state {
  fine,       // renewed in time, or not due yet
  retrying,   // the last attempt failed; another follows
  refused,    // the server refuses to renew; another attempt follows, slowly
  rejoining,  // over; it joins again by the certificate, or tries to
  expired,    // over, by the server's signed time: a person must join it again
};
/// "fine", "retrying", "refused", "rejoining", "expired".
[[nodiscard]] std::string_view state_text(renewal_state s) noexcept;

/// What a running `bcd node` knows; kept in status.json for `bcd doctor`, and
/// told to systemd. Times are the server's as far as it is known.
struct node_status {
  std::string node_id;
  renewal_state state = renewal_state::fine;
  std::string why;  // of a state other than fine
  time_point not_after;
  time_point next_renewal;
  std::optional<time_point> last_attempt;
  std::optional<time_point> last_renewal;
  /// Server's time less the machine's, and the machine's time when the server
  /// last signed one.
  std::optional<milliseconds> clock_offset;
  std::optional<time_point> offset_learnt;
  std::string session;  // "connected", or why there is none; empty: not tried
  bool session_refused = false;  // the gateway says: not a node (any more)
};

[[nodiscard]] std::string encode(const node_status& s);
/// INVALID_INPUT for a text that encode() did not write.
[[nodiscard]] result<node_status> decode_node_status(std::string_view text);
/// One line for `systemctl status`.
[[nodiscard]] std::string summary(const node_status& s);

}  // namespace bc::daemon
