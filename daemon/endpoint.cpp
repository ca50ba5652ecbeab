#include "daemon/endpoint.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <optional>

namespace bc::daemon {

namespace {

fault bad(std::string message) {
  return fail(errc::invalid_config, std::move(message));
}

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5)
    return false;
  int value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return false;
    value = value * 10 + (c - '0');
  }
  return value >= 1 && value <= 65535;
}

// Splits host and port; false when they are not well formed.
bool split_authority(std::string_view authority, endpoint& out) {
  std::string_view host;
  std::string_view rest;
  if (authority.starts_with('[')) {
    auto close = authority.find(']');
    if (close == std::string_view::npos)
      return false;
    host = authority.substr(1, close - 1);
    rest = authority.substr(close + 1);
    if (host.find(':') == std::string_view::npos ||
        host.find_first_not_of("0123456789abcdefABCDEF:.") !=
            std::string_view::npos)
      return false;
  } else {
    host = authority.substr(0, authority.find(':'));
    rest = authority.substr(host.size());
    if (host.empty() || host.size() > 253 ||
        !std::all_of(host.begin(), host.end(), is_host_char))
      return false;
  }
  out.host = std::string{host};
  if (rest.empty())
    return true;
  if (rest.front() != ':' || !is_port(rest.substr(1)))
    return false;
  out.port = std::string{rest.substr(1)};
  return true;
}

bool is_ip_address(const std::string& text) {
  std::array<unsigned char, 16> address{};
  return ::inet_pton(AF_INET, text.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), address.data()) == 1;
}

std::optional<endpoint> parse_url(std::string_view url, std::string_view scheme,
                                  std::string port) {
  if (!url.starts_with(scheme))
    return std::nullopt;
  auto authority = url.substr(scheme.size());
  if (authority.ends_with('/'))
    authority.remove_suffix(1);
  endpoint out{{}, std::move(port)};
  if (!split_authority(authority, out))
    return std::nullopt;
  return out;
}

}  // namespace

result<endpoint> parse_gateway_url(std::string_view url) {
  auto out = parse_url(url, "https://", "443");
  if (!out)
    return bad("gateway_url must be https://HOST or https://HOST:PORT");
  return *out;
}

result<endpoint> parse_site_agent_url(std::string_view url) {
  auto out = parse_url(url, "http://", "9480");
  if (!out)
    return bad("a site agent's URL must be http://HOST or http://HOST:PORT");
  return *out;
}

result<endpoint> parse_listen_address(std::string_view text) {
  endpoint out;
  const bool any_port = text.ends_with(":0");
  auto named = std::string{text.substr(0, text.size() - any_port)};
  out.port.clear();
  if (!split_authority(any_port ? named + "1" : named, out) ||
      out.port.empty() || !is_ip_address(out.host))
    return bad("must be ADDRESS:PORT");
  if (any_port)
    out.port = "0";
  return out;
}

result<std::vector<endpoint>> parse_site_agents(
    const std::vector<std::string>& urls) {
  if (urls.empty() || urls.size() > most_site_agents)
    return fail(errc::invalid_input, "--site-agent must be given 1 to " +
                                         std::to_string(most_site_agents) +
                                         " times");
  std::vector<endpoint> out;
  for (const auto& url : urls) {
    auto one = parse_site_agent_url(url);
    if (!one)
      return fail(errc::invalid_input, one.error().message);
    const bool again =
        std::any_of(out.begin(), out.end(), [&](const endpoint& e) {
          return e.host == one.value().host && e.port == one.value().port;
        });
    if (again)
      return fail(errc::invalid_input, "--site-agent names one agent twice");
    out.push_back(one.value());
  }
  return out;
}

}  // namespace bc::daemon
