#include "pki/filler_words.hpp"

#include "pki/characters.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace bc::pki {

namespace {

constexpr std::string_view words[] = {
    "ABSENT",       "ACC",          "APPLICABLE",  "ASDF",
    "ASDFGH",       "ASDFGHJKL",    "ASSET",       "ASSIGNED",
    "ATN",          "AVAILABLE",    "BAD",         "BASE",
    "BASEBOARD",    "BE",           "BIOS",        "BLANK",
    "BOARD",        "BSN",          "BY",          "CHANGE",
    "CHASSIS",      "CONFIG",       "CONFIGURED",  "CPU",
    "CSN",          "DATA",         "DEFAULT",     "DEFINE",
    "DEFINED",      "DEMO",         "DETECTED",    "DETERMINED",
    "DIMM",         "DUMMY",        "EMPTY",       "ENCLOSURE",
    "ENTER",        "ENTERED",      "ERROR",       "EVAL",
    "EXAMPLE",      "FAILED",       "FAMILY",      "FILL",
    "FILLED",       "FOR",          "FOUND",       "GENERIC",
    "HERE",         "ID",           "IDENTIFIER",  "IMPLEMENTED",
    "INDEX",        "INFO",         "INFORMATION", "INITIALIZED",
    "INSERT",       "INSTALLED",    "INVALID",     "IS",
    "LATER",        "MACHINE",      "MAIN",        "MAINBOARD",
    "MANUFACTURER", "MB",           "ME",          "MISSING",
    "MODEL",        "MODULE",       "MORE",        "MOTHERBOARD",
    "NA",           "NAME",         "NB",          "NIL",
    "NO",           "NONE",         "NOT",         "NOTHING",
    "NULL",         "NUM",          "NUMBER",      "ODM",
    "OEM",          "OF",           "OUT",         "PART",
    "PCA",          "PLACEHOLDER",  "PLATFORM",    "PLEASE",
    "PRESENT",      "PRODUCT",      "PROGRAMMED",  "PROTOTYPE",
    "PROVIDED",     "QWERTY",       "QWERTYUIOP",  "READABLE",
    "RESERVED",     "SAMPLE",       "SER",         "SERIAL",
    "SET",          "SETTABLE",     "SKU",         "SN",
    "SPEC",         "SPECIFIED",    "STANDARD",    "STRING",
    "SUPPLIED",     "SUPPORTED",    "SYS",         "SYSTEM",
    "TAG",          "TBA",          "TBC",         "TBD",
    "TEMP",         "TEMPORARY",    "TEST",        "THE",
    "THIS",         "TO",           "TYPE",        "UNASSIGNED",
    "UNAVAILABLE",  "UNCONFIGURED", "UNDEFINED",   "UNINITIALIZED",
    "UNKNOWN",      "UNPROGRAMMED", "UNSET",       "UNSPECIFIED",
    "UNUSED",       "UPDATED",      "USED",        "VALID",
    "VALUE",        "VENDOR",       "VERSION",     "VIRTUAL",
    "YET",          "YOUR",         "ZXCVBNM",
};
static_assert(std::is_sorted(std::begin(words), std::end(words)));

// After these a number of one or two digits is part of the placeholder.
constexpr std::string_view numbered[] = {"DEFINE", "NUM", "TYPE"};

constexpr std::size_t longest_text = 64;
constexpr std::size_t least_misspelled = 6;
// A text that was cut: enough whole words before, enough of the last one.
constexpr std::size_t least_before_cut = 6;
constexpr std::size_t least_cut = 10;

char first_of(std::string_view word) {
  return word.front();
}

bool omits_one(std::string_view text, std::string_view word) {
  auto [at, in_word] = std::mismatch(text.begin(), text.end(), word.begin());
  return std::equal(at, text.end(), in_word + 1);
}

bool swaps_two(std::string_view text, std::string_view word) {
  auto [at, in_word] = std::mismatch(text.begin(), text.end(), word.begin());
  return text.end() - at >= 2 && at[0] == in_word[1] && at[1] == in_word[0] &&
         std::equal(at + 2, text.end(), in_word + 2);
}

// Not by std::ranges::equal_range: clang 14, which fuzzes, cannot compile the
// subranges of GCC 12's library.
std::span<const std::string_view> words_with(char first) {
  auto begin = std::ranges::lower_bound(words, first, {}, first_of);
  auto end = std::ranges::upper_bound(words, first, {}, first_of);
  return {begin, end};
}

// Which prefixes of a text are words in a row.
class reading {
 public:
  explicit reading(std::string_view text) : text_(text) {}

  bool is_whole() {
    reached_[0] = exact;
    for (std::size_t at = 0; at < text_.size() && !cut_; ++at)
      if (reached_[at] != 0)
        step(at);
    return cut_ || reached_[text_.size()] != 0;
  }

 private:
  // How a prefix was read: with every word right, or with one misspelled.
  static constexpr unsigned exact = 1;
  static constexpr unsigned misspelled = 2;

  void step(std::size_t at) {
    auto rest = text_.substr(at);
    for (auto word : words_with(rest.front())) {
      if (rest.starts_with(word))
        take(at, word);
      else if (word.size() >= least_misspelled && (reached_[at] & exact) != 0)
        take_misspelled(at, rest, word);
      cut_ = cut_ || (at >= least_before_cut && text_.size() >= least_cut &&
                      rest.size() >= 2 && word.starts_with(rest));
    }
  }

  void take(std::size_t at, std::string_view word) {
    auto how = reached_[at];
    auto end = at + word.size();
    reached_[end] |= how;
    if (std::find(std::begin(numbered), std::end(numbered), word) ==
        std::end(numbered))
      return;
    for (int digits = 0; digits < 2 && end < text_.size(); ++digits) {
      if (!is_digit(text_[end]))
        return;
      reached_[++end] |= how;
    }
  }

  void take_misspelled(std::size_t at, std::string_view rest,
                       std::string_view word) {
    auto size = word.size();
    if (rest.size() >= size - 1 && omits_one(rest.substr(0, size - 1), word))
      reached_[at + size - 1] |= misspelled;
    if (rest.size() >= size && swaps_two(rest.substr(0, size), word))
      reached_[at + size] |= misspelled;
  }

  std::string_view text_;
  std::array<unsigned, longest_text + 1> reached_{};
  bool cut_ = false;
};

bool may_be_words(std::string_view text) {
  constexpr std::ptrdiff_t most_digits = 4;
  return !text.empty() && text.size() <= longest_text &&
         is_letter(text.front()) &&
         std::count_if(text.begin(), text.end(), is_digit) <= most_digits;
}

}  // namespace

bool is_filler_phrase(std::string_view text) {
  return may_be_words(text) && reading{text}.is_whole();
}

}  // namespace bc::pki
