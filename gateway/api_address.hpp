#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace bc::gateway {

struct api_address {
  std::string host;  // DNS name or IP literal, without brackets
  std::uint16_t port = 0;
};
/// host:port, an IPv6 literal in brackets; else INVALID_INPUT.
[[nodiscard]] result<api_address> parse_api_address(std::string_view text);

}  // namespace bc::gateway
