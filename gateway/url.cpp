#include "gateway/url.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <optional>

namespace bc::gateway {

namespace {

fault bad_url(std::string_view text) {
  return fail(
      errc::invalid_input,
      "not a URL of the form http://host:port or https://host[:port]: " +
          std::string{text});
}

bool is_v4(std::string_view host) {
  in_addr address{};
  return inet_pton(AF_INET, std::string{host}.c_str(), &address) == 1;
}

bool is_v6(std::string_view host) {
  in6_addr address{};
  return inet_pton(AF_INET6, std::string{host}.c_str(), &address) == 1;
}

bool is_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '.' || c == '-';
         });
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  auto [end, ec] =
      std::from_chars(text.data(), text.data() + text.size(), port);
  if (ec != std::errc{} || end != text.data() + text.size() || port == 0)
    return std::nullopt;
  return port;
}

}  // namespace

result<server_url> parse_url(std::string_view text) {
  server_url out;
  auto rest = text;
  if (rest.starts_with("https://")) {
    out.tls = true;
    out.port = 443;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    out.port = 80;
    rest.remove_prefix(7);
  } else {
    return bad_url(text);
  }
  if (rest.ends_with('/'))
    rest.remove_suffix(1);

  std::string_view port;
  bool has_port = false;
  if (rest.starts_with('[')) {
    auto close = rest.find(']');
    if (close == std::string_view::npos)
      return bad_url(text);
    out.host = rest.substr(1, close - 1);
    port = rest.substr(close + 1);
    has_port = !port.empty();
    if (!is_v6(out.host) || (has_port && port[0] != ':'))
      return bad_url(text);
    if (has_port)
      port.remove_prefix(1);
  } else {
    auto colon = rest.find(':');
    out.host = rest.substr(0, colon);
    has_port = colon != std::string_view::npos;
    if (has_port)
      port = rest.substr(colon + 1);
    if (!is_name(out.host))
      return bad_url(text);
  }
  if (has_port) {
    auto number = parse_port(port);
    if (!number)
      return bad_url(text);
    out.port = *number;
  }
  return out;
}

bool is_loopback(std::string_view host) {
  in_addr v4{};
  if (inet_pton(AF_INET, std::string{host}.c_str(), &v4) == 1)
    return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, std::string{host}.c_str(), &v6) == 1)
    return std::memcmp(&v6, &in6addr_loopback, sizeof v6) == 0;
  return host == "localhost";
}

bool is_ip_literal(std::string_view host) {
  return is_v4(host) || is_v6(host);
}

std::string authority_of(std::string_view host, std::uint16_t port) {
  bool v6 = host.find(':') != std::string_view::npos;
  std::string out;
  out.append(v6 ? "[" : "").append(host).append(v6 ? "]:" : ":");
  return out.append(std::to_string(port));
}

}  // namespace bc::gateway
