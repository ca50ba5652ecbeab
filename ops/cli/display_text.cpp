#include "ops/cli/display_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cwchar>
#include <locale.h>
#include <optional>

namespace bc::cli {

namespace {

/// One character of a text; none: a byte that is no UTF-8.
struct character {
  std::optional<char32_t> code;
  std::string_view bytes;
};

constexpr int tail_bits = 6;
constexpr unsigned tail_mask = 0x3f;

// How many bytes a lead byte announces, 0: it is none.
std::size_t length_of(unsigned lead) {
  if (lead < 0x80)
    return 1;
  if (lead >= 0xc2 && lead < 0xe0)
    return 2;
  if (lead >= 0xe0 && lead < 0xf0)
    return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

// RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF.
bool is_valid(char32_t code, std::size_t length) {
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  return code >= least[length] && code <= 0x10ffff &&
         (code < 0xd800 || code > 0xdfff);
}

character first_of(std::string_view text) {
  auto byte = [&](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(text[i]));
  };
  const auto length = length_of(byte(0));
  if (length == 1)
    return {byte(0), text.substr(0, 1)};
  if (length == 0 || length > text.size())
    return {std::nullopt, text.substr(0, 1)};
  auto code = static_cast<char32_t>(byte(0) & (0xffu >> (length + 1)));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & ~tail_mask) != 0x80)
      return {std::nullopt, text.substr(0, 1)};
    code = (code << tail_bits) | (byte(i) & tail_mask);
  }
  if (!is_valid(code, length))
    return {std::nullopt, text.substr(0, 1)};
  return {code, text.substr(0, length)};
}

template <class Each>
void for_each_character(std::string_view text, Each each) {
  while (!text.empty()) {
    auto c = first_of(text);
    text.remove_prefix(c.bytes.size());
    if (!each(c))
      return;
  }
}

struct span_of_codes {
  char32_t first, last;
};

// Unicode's controls, and what it calls default ignorable or bidirectional.
constexpr std::array<span_of_codes, 11> hidden{{
    {0x00, 0x1f},        // C0
    {0x7f, 0x9f},        // DEL and C1
    {0x061c, 0x061c},    // Arabic letter mark
    {0x180e, 0x180e},    // Mongolian vowel separator
    {0x200b, 0x200f},    // zero width, left-to-right and right-to-left marks
    {0x2028, 0x202e},    // line and paragraph separators, embeddings
    {0x2060, 0x206f},    // word joiner, invisible signs, isolates
    {0xfeff, 0xfeff},    // byte order mark
    {0xfff9, 0xfffb},    // annotations
    {0xe0000, 0xe0fff},  // tags
    {0xfffe, 0xffff},
}};

bool is_hidden(char32_t code) {
  return std::any_of(hidden.begin(), hidden.end(), [code](auto& s) {
    return code >= s.first && code <= s.last;
  });
}

std::string hex(char32_t number, int digits) {
  constexpr std::string_view all = "0123456789abcdef";
  std::string out;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += all[(number >> shift) & 0xf];
  return out;
}

std::string escaped(const character& c) {
  if (!c.code)
    return "\\x" + hex(static_cast<unsigned char>(c.bytes[0]), 2);
  if (*c.code < 0x80)
    return "\\x" + hex(*c.code, 2);
  return *c.code <= 0xffff ? "\\u" + hex(*c.code, 4) : "\\U" + hex(*c.code, 8);
}

std::string json_escaped(char32_t code) {
  if (code <= 0xffff)
    return "\\u" + hex(code, 4);
  code -= 0x10000;
  return "\\u" + hex(0xd800 + (code >> 10), 4) + "\\u" +
         hex(0xdc00 + (code & 0x3ff), 4);
}

// The table of the C library, for this one question alone: nothing else here
// depends on a locale (CASES 147).
std::size_t columns_of(char32_t code) {
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr)
    return 1;
  const auto before = ::uselocale(utf8);
  const int columns = ::wcwidth(static_cast<wchar_t>(code));
  ::uselocale(before);
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for_each_character(text, [&](const character& c) {
    if (!c.code || is_hidden(*c.code))
      out += escaped(c);
    else
      out += c.bytes;
    return true;
  });
  return out;
}

std::string printable_json(std::string_view json) {
  std::string out;
  for_each_character(json, [&](const character& c) {
    // What JSON has outside its strings, blanks too, is ASCII.
    if (c.code && *c.code >= 0x7f && is_hidden(*c.code))
      out += json_escaped(*c.code);
    else
      out += c.bytes;
    return true;
  });
  return out;
}

std::size_t width_of(std::string_view text) {
  std::size_t columns = 0;
  for_each_character(text, [&](const character& c) {
    columns += c.code ? columns_of(*c.code) : 1;
    return true;
  });
  return columns;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns)
    return std::string{text};
  std::string out;
  std::size_t used = 1;  // the ellipsis
  for_each_character(text, [&](const character& c) {
    used += c.code ? columns_of(*c.code) : 1;
    if (used > columns)
      return false;
    out += c.bytes;
    return true;
  });
  return out + "…";
}

}  // namespace bc::cli
