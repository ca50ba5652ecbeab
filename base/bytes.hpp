#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bc {

using bytes = std::vector<std::uint8_t>;
using byte_view = std::span<const std::uint8_t>;

[[nodiscard]] inline byte_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

[[nodiscard]] inline std::string_view as_text(byte_view data) noexcept {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

[[nodiscard]] inline bytes to_bytes(byte_view data) {
  return {data.begin(), data.end()};
}

}  // namespace bc
