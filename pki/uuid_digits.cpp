#include "pki/uuid_digits.hpp"

#include "pki/characters.hpp"
#include "pki/filler_patterns.hpp"

#include <algorithm>
#include <string>

namespace bc::pki {

namespace {

constexpr std::size_t version_at = 12;
constexpr std::size_t variant_at = 16;
constexpr std::size_t group_size = 4;

constexpr std::string_view words[] = {
    "0bad", "1dea", "abad", "baad", "babe", "beef", "c0de", "cafe",
    "d00d", "dead", "deaf", "f00d", "face", "fade", "feed",
};

int value(char digit) {
  return is_digit(digit) ? digit - '0' : digit - 'a' + 10;
}

bool follows(char a, char b) {
  int before = value(a), after = value(b);
  return after == before + 1 || (before == 9 && after == 0) ||
         (before == 0 && after == 10) ||
         (before == 15 && (after <= 1 || after == 10));
}

template <class Follows>
bool each_follows(std::string_view text, Follows test) {
  return std::adjacent_find(text.begin(), text.end(), [&](char a, char b) {
           return !test(a, b);
         }) == text.end();
}

bool alternates(std::string_view text) {
  return text.substr(2) == text.substr(0, text.size() - 2);
}

bool is_filled(std::string_view group) {
  return alternates(group) || hex_counts(group) ||
         std::find(std::begin(words), std::end(words), group) !=
             std::end(words);
}

// Also without its first digit, where that is a stamped one.
bool is_filled_group(std::string_view hex, std::size_t at) {
  auto group = hex.substr(at, group_size);
  bool stamped = at == version_at || at == variant_at;
  return is_filled(group) || (stamped && is_filled(group.substr(1)));
}

}  // namespace

bool hex_counts(std::string_view digits) {
  return each_follows(digits, follows) ||
         each_follows(digits, [](char a, char b) { return follows(b, a); });
}

bool digits_repeat(std::string_view hex) {
  auto stamped = [](std::size_t at) {
    return at == version_at || at == variant_at;
  };
  for (std::size_t period = 1; period <= hex.size() / 2; ++period) {
    bool repeats = true;
    for (auto at = period; repeats && at < hex.size(); ++at)
      repeats =
          hex[at] == hex[at - period] || stamped(at) || stamped(at - period);
    if (repeats)
      return true;
  }
  return false;
}

bool doubled_digits_count(std::string_view hex) {
  std::string digits;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    if (hex[at] != hex[at + 1])
      return false;
    digits += hex[at];
  }
  return hex_counts(digits);
}

bool groups_are_filled(std::string_view hex) {
  for (std::size_t at = 0; at < hex.size(); at += group_size)
    if (!is_filled_group(hex, at))
      return false;
  return true;
}

}  // namespace bc::pki
