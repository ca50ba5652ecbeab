#include "pki/characters.hpp"
#include "pki/filler_patterns.hpp"
#include "pki/filler_words.hpp"
#include "pki/placeholders.hpp"

#include <algorithm>
#include <string>

namespace bc::pki {

namespace {

// Constants that follow no rule. Compared with their dashes and blanks: a real
// serial may have the same digits with others.
constexpr std::string_view constants[] = {
    // The chassis asset tags of clouds, the same on every machine.
    "7783-7084-3265-9085-8269-3286-77",
    "AMAZON EC2",
    "OPENSTACK FOUNDATION",
    "ORACLECLOUD.COM",
    // Vendors' own.
    "CBX3",
    "ISD_PCS",
    "SN-123456FVGV3I0B8O5N6N7K",
    "TULIP COMPUTERS",
};

constexpr std::size_t least_significant = 4;

bool is_plain(char c) {
  return is_digit(c) || is_letter(c) || !is_ascii(c);
}

std::string_view without_ends(std::string_view text) {
  auto first = std::find_if(text.begin(), text.end(), is_plain);
  auto last = std::find_if(text.rbegin(), text.rend(), is_plain).base();
  return first == text.end() ? std::string_view{}
                             : std::string_view{first, last};
}

// What is not ASCII is judged by its characters' number and sameness alone.
bool says_nothing(std::string_view text) {
  std::size_t significant = 0;
  bool same = true;
  char32_t first = 0;
  while (!text.empty()) {
    auto [c, size] = first_scalar(text);
    if (is_plain(text.front())) {
      first = significant == 0 ? c : first;
      same = same && c == first;
      ++significant;
    }
    text.remove_prefix(size);
  }
  return same || significant < least_significant;
}

// Zeros or ones throughout, as a number: 0X00000000, FFFFH.
bool is_filler_number(std::string_view significant) {
  auto filler = [](std::string_view digits) {
    return is_one_repeated(digits) &&
           (digits.front() == '0' || digits.front() == 'F');
  };
  return (significant.starts_with("0X") && filler(significant.substr(2))) ||
         (significant.ends_with('H') &&
          filler(significant.substr(0, significant.size() - 1)));
}

// The words for the field before a number or filler: SN-12345, MB-0000000000.
bool is_labelled_filler(std::string_view core) {
  constexpr std::size_t least_counted = 5;
  constexpr std::string_view usual_filler = "0X";
  auto least_repeated = usual_filler.find(core.back()) == std::string_view::npos
                            ? std::size_t{6}
                            : std::size_t{4};
  auto label = [&](std::size_t tail) {
    return is_filler_phrase(alphanumerics(core.substr(0, tail)));
  };
  auto digits = core.find_last_not_of("0123456789") + 1;
  auto number = core.substr(digits);
  if (number.size() >= least_counted && counts_up(number) && label(digits))
    return true;
  auto repeated = core.find_last_not_of(core.back()) + 1;
  return core.size() - repeated >= least_repeated && label(repeated);
}

}  // namespace

bool is_placeholder_serial(std::string_view upper) {
  auto core = without_ends(upper);
  if (!std::all_of(core.begin(), core.end(), is_ascii))
    return says_nothing(core);
  auto significant = alphanumerics(core);
  return significant.size() < least_significant ||
         is_one_repeated(significant) || is_short_cycle(significant) ||
         counts(core) || is_filler_number(significant) ||
         is_filler_phrase(significant) || is_labelled_filler(core) ||
         std::find(std::begin(constants), std::end(constants), core) !=
             std::end(constants);
}

}  // namespace bc::pki
