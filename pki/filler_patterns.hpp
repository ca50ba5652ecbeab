#pragma once

#include <string_view>

/// Private to this folder. Texts that somebody typed to fill a field: they
/// follow a pattern. Upper-case ASCII.
namespace bc::pki {

/// One character throughout. False for an empty text.
[[nodiscard]] bool is_one_repeated(std::string_view text);

/// The same few characters over and over: at least three times, or twice when
/// they are eight or more, or count themselves ("12341234").
[[nodiscard]] bool is_short_cycle(std::string_view text);

/// Digits or letters in their order from the first one, up or down, at least
/// four: 0123…, 1234567890123…, 987654321, ABCDEF. Also with every character
/// doubled (112233), with zeros to the end (123456789000), in groups that each
/// start again (123-1234-123), and the digits with at least A to C after them.
[[nodiscard]] bool counts(std::string_view text);

/// Digits alone, counting up by one from 0 or 1; the 0 follows the 9.
[[nodiscard]] bool counts_up(std::string_view digits);

}  // namespace bc::pki
