#pragma once

#include <string_view>

namespace bc {

/// Without the blanks at its ends; never by the host's locale.
[[nodiscard]] constexpr std::string_view trimmed(
    std::string_view text, std::string_view blanks = " \t\r\n") noexcept {
  auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// True when it is this many characters of lower-case hexadecimal.
[[nodiscard]] constexpr bool is_lower_hex(std::string_view text,
                                          std::size_t size) noexcept {
  return text.size() == size &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace bc
