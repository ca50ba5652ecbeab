#pragma once

#include <string>

namespace bc::postgres {

/// False when connections to this URL may cross a network without that the
/// server's certificate and name are checked (`sslmode=verify-full`, or
/// verify-ca): who is on the way could be the store. What libpq takes from its
/// environment counts. Sockets and loopback need none.
[[nodiscard]] bool checks_server(const std::string& url);

}  // namespace bc::postgres
