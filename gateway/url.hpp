#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace bc::gateway {

struct server_url {
  bool tls = false;
  std::string host;  // an IPv6 literal without its brackets
  std::uint16_t port = 0;
};

/// http://host[:port] or https://host[:port], a single slash after it allowed;
/// user names, paths and queries are INVALID_INPUT.
[[nodiscard]] result<server_url> parse_url(std::string_view text);

/// 127.0.0.0/8, ::1 and "localhost".
[[nodiscard]] bool is_loopback(std::string_view host);
[[nodiscard]] bool is_ip_literal(std::string_view host);

/// host:port, with the brackets of an IPv6 literal.
[[nodiscard]] std::string authority_of(std::string_view host,
                                       std::uint16_t port);

}  // namespace bc::gateway
