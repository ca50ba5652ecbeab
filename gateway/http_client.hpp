#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace bc::gateway {

struct client_options {
  std::string url;      // http://host:port or https://host[:port]
  std::string ca_file;  // PEM, for https with a private CA; empty: the system's
  seconds timeout{30};
};

struct client_response {
  int status = 0;
  std::string body;
};

/// One request over one connection; blocks. INVALID_INPUT for a bad URL or
/// plain HTTP to anything but loopback, UNAVAILABLE when the server cannot be
/// reached or does not answer in time.
[[nodiscard]] result<client_response> send_request(
    const client_options& options, const std::string& method,
    const std::string& path, const std::map<std::string, std::string>& headers,
    const std::string& body);

/// A GET whose answer stays open: its body is given piece by piece as it
/// comes, until it ends, `on_text` answers false, or nothing came for
/// `options.timeout`. What is not 200 is read whole (1 MiB at most) and given
/// as send_request does.
[[nodiscard]] result<client_response> read_stream(
    const client_options& options, const std::string& path,
    const std::map<std::string, std::string>& headers,
    const std::function<bool(std::string_view)>& on_text);

}  // namespace bc::gateway
