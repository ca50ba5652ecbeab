#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Private to this folder. ASCII alone, whatever the host's locale.
namespace bc::pki {

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_letter(char c) noexcept {
  return upper(c) >= 'A' && upper(c) <= 'Z';
}
[[nodiscard]] constexpr bool is_ascii(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x80;
}

/// The letters, in upper case, and digits of a text, without the rest.
[[nodiscard]] inline std::string alphanumerics(std::string_view text) {
  std::string out;
  for (char c : text)
    if (is_digit(c) || is_letter(c))
      out += upper(c);
  return out;
}

/// A code point and how many bytes it takes.
struct scalar {
  char32_t value;
  std::size_t size;
};

/// The first one of a text that is well-formed UTF-8 and not empty.
[[nodiscard]] constexpr scalar first_scalar(std::string_view text) noexcept {
  auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  auto lead = byte(0);
  if (lead < 0x80)
    return {lead, 1};
  std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t value = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i)
    value = (value << 6) | (byte(i) & 0x3f);
  return {value, size};
}

}  // namespace bc::pki
