#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bc::daemon {

/// Where the gateway is: https://host[:port].
struct endpoint {
  std::string host;  // without the brackets of an IPv6 literal
  std::string port = "443";
};

/// INVALID_CONFIG for anything but https://host[:port][/].
[[nodiscard]] result<endpoint> parse_gateway_url(std::string_view url);
/// Where a site agent gives vouches: http://host[:port][/], port 9480 unless
/// given. INVALID_CONFIG for anything else.
[[nodiscard]] result<endpoint> parse_site_agent_url(std::string_view url);
/// ADDRESS:PORT, an IPv6 address in brackets; port 0: any. INVALID_CONFIG.
[[nodiscard]] result<endpoint> parse_listen_address(std::string_view text);

/// Several agents may serve a site; one of them holds its boot lease.
inline constexpr std::size_t most_site_agents = 8;

/// The URLs of `--site-agent`: 1 to most_site_agents, none twice; else
/// INVALID_INPUT.
[[nodiscard]] result<std::vector<endpoint>> parse_site_agents(
    const std::vector<std::string>& urls);

}  // namespace bc::daemon
