#pragma once

#include <string>
#include <string_view>

namespace bc::daemon {

/// Tells the service manager how the daemon is, by the datagram that
/// sd_notify(3) describes: to the socket that NOTIFY_SOCKET names, a path or
/// an abstract name ("@…"). Does nothing without one; what cannot be sent is
/// not missed. For example "READY=1\nSTATUS=…". Line ends in a value are for
/// the caller to leave out.
void notify_service(std::string_view state) noexcept;

}  // namespace bc::daemon
