#include "ops/cli/duration.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace bc::cli {

result<seconds> parse_duration(std::string_view text) {
  std::string message{"'"};
  message.append(text.substr(0, 32))
      .append(
          "' is not a duration; write whole seconds, minutes or hours, for "
          "example 90s, 15m or 1h30m");
  const auto bad = fail(errc::invalid_input, std::move(message));
  constexpr std::string_view units = "hms";
  constexpr std::int64_t sizes[] = {3600, 60, 1};
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  if (text.empty())
    return bad;
  while (!text.empty()) {
    std::int64_t number = 0;
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
      // Nine digits of hours fit 64 bits with room to spare.
      if (digits == 9)
        return bad;
      number = number * 10 + (text[digits] - '0');
      ++digits;
    }
    if (digits == 0 || digits == text.size())
      return bad;
    auto unit = units.find(text[digits]);
    if (unit == std::string_view::npos || unit < next_unit)
      return bad;
    next_unit = unit + 1;
    total += number * sizes[unit];
    text.remove_prefix(digits + 1);
  }
  return seconds{total};
}

}  // namespace bc::cli
