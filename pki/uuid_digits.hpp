#pragma once

#include <string_view>

/// Private to this folder. UUIDs that somebody typed: their 32 digits in lower
/// case. The digits of version and variant count as any, since a generator may
/// have stamped them.
namespace bc::pki {

/// The same digits over and over: at most half of them at a time.
[[nodiscard]] bool digits_repeat(std::string_view hex);

/// Each four digits, and so each group between dashes, are filler by
/// themselves: one digit or two in turn, digits that count up or down, a word
/// (dead, beef).
[[nodiscard]] bool groups_are_filled(std::string_view hex);

/// Each byte is one digit twice, and these digits count (1122…eeff00).
[[nodiscard]] bool doubled_digits_count(std::string_view hex);

/// Digits that count by one, up or down; after 9 come a or 0, after f 0, 1 or
/// a.
[[nodiscard]] bool hex_counts(std::string_view digits);

}  // namespace bc::pki
