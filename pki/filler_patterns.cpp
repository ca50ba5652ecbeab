#include "pki/filler_patterns.hpp"

#include "pki/characters.hpp"

#include <algorithm>
#include <string>

namespace bc::pki {

namespace {

constexpr std::size_t least_run = 4;

template <class Follows>
bool each_follows(std::string_view text, Follows follows) {
  return std::adjacent_find(text.begin(), text.end(), [&](char a, char b) {
           return !follows(a, b);
         }) == text.end();
}

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_digit);
}

bool follows_digit(char a, char b) {
  return b == (a == '9' ? '0' : a + 1);
}

bool counts_down(std::string_view digits) {
  return !digits.empty() && all_digits(digits) && digits.back() <= '1' &&
         each_follows(digits,
                      [](char a, char b) { return follows_digit(b, a); });
}

bool is_alphabet(std::string_view text) {
  return text.starts_with('A') &&
         each_follows(text, [](char a, char b) { return b == a + 1; });
}

bool counts_from_first(std::string_view text) {
  return counts_up(text) || counts_down(text) || is_alphabet(text);
}

// The numbers from one, written one after another.
bool counts_numbers(std::string_view text) {
  constexpr std::string_view numbers = "1234567891011121314151617181920";
  return text.size() > 10 && numbers.starts_with(text);
}

// The digits and then letters. A single letter more than the digits is a
// serial that only begins like this (CASES 29).
bool counts_in_hex(std::string_view text) {
  constexpr std::string_view runs[] = {"0123456789ABCDEF", "123456789ABCDEF",
                                       "1234567890ABCDEF"};
  return text.size() >= least_run && is_letter(text.back()) &&
         text.back() >= 'C' &&
         std::any_of(std::begin(runs), std::end(runs),
                     [&](auto run) { return run.starts_with(text); });
}

// 112233, AAABBBCCC: every character as often as the first.
bool counts_in_steps(std::string_view text) {
  if (text.empty())
    return false;
  auto times = std::min(text.find_first_not_of(text.front()), text.size());
  if (times < 2 || text.size() % times != 0 || text.size() / times < 3)
    return false;
  std::string once;
  for (std::size_t i = 0; i < text.size(); i += times) {
    if (!is_one_repeated(text.substr(i, times)))
      return false;
    once += text[i];
  }
  return counts_from_first(once);
}

bool counts_then_zeros(std::string_view text) {
  constexpr std::size_t least_counted = 6;
  constexpr std::size_t least_zeros = 2;
  auto counted = text.find_last_not_of('0') + 1;
  return counted >= least_counted && text.size() - counted >= least_zeros &&
         counts_up(text.substr(0, counted));
}

bool counts_in_groups(std::string_view text) {
  constexpr std::string_view separators = " -./_:";
  constexpr std::size_t least = 3;
  int groups = 0;
  while (true) {
    auto end = text.find_first_of(separators);
    auto group = text.substr(0, end);
    if (group.size() < least || !counts_up(group))
      return false;
    ++groups;
    if (end == std::string_view::npos)
      return groups > 1;
    text.remove_prefix(end + 1);
  }
}

bool repeats(std::string_view text, std::size_t period) {
  return text.substr(period) == text.substr(0, text.size() - period);
}

}  // namespace

bool is_one_repeated(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of(text.front()) == std::string_view::npos;
}

bool counts_up(std::string_view digits) {
  return !digits.empty() && digits.front() <= '1' && all_digits(digits) &&
         each_follows(digits, follows_digit);
}

bool is_short_cycle(std::string_view text) {
  constexpr std::size_t least = 8;
  constexpr std::size_t long_cycle = 8;
  constexpr std::size_t least_counted = 3;
  auto size = text.size();
  auto half = size / 2;
  if (size % 2 == 0 && half >= least_counted && repeats(text, half) &&
      counts_from_first(text.substr(0, half)))
    return true;
  if (size < least)
    return false;
  for (std::size_t period = 2; period <= half; ++period)
    if ((period <= size / 3 || period >= long_cycle) && repeats(text, period))
      return true;
  return false;
}

bool counts(std::string_view text) {
  return text.size() >= least_run &&
         (counts_from_first(text) || counts_numbers(text) ||
          counts_in_hex(text) || counts_in_steps(text) ||
          counts_then_zeros(text) || counts_in_groups(text));
}

}  // namespace bc::pki
