#pragma once

#include "base/wire_session.hpp"
#include "daemon/session.hpp"

#include <string>
#include <vector>

namespace bc::daemon {

/// The time in a welcome: its signing key has one of the pins, and signed it
/// together with our nonce. ACCESS_DENIED otherwise.
[[nodiscard]] result<time_point> check_welcome(
    const wire::welcome& welcome,
    const std::vector<std::string>& signing_key_pins, byte_view nonce);

/// What a WebSocket close code of the gateway means.
[[nodiscard]] session_outcome::end end_of_close(std::uint16_t code) noexcept;
/// What it means when the upgrade is answered with this HTTP status.
[[nodiscard]] session_outcome::end end_of_status(int status) noexcept;

}  // namespace bc::daemon
