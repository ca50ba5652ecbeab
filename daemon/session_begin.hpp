#pragma once

#include "daemon/config.hpp"
#include "daemon/session.hpp"

#include <functional>
#include <string>

namespace boost::asio {
class io_context;
}

namespace bc::daemon {

/// Begins a session on the thread that runs `io`, which must outlive it. `done`
/// is told once, there, when nothing of it is left; also by `io` as it is
/// destroyed. What it returns asks the session to end, from any thread while
/// `io` lives. Throws what Asio throws; `done` may
/// have been told then.
[[nodiscard]] std::function<void()> begin_session(
    boost::asio::io_context& io, const config& c, endpoint to, node_identity me,
    std::string bcd_version, session_hooks hooks,
    std::function<void(session_outcome)> done);

}  // namespace bc::daemon
