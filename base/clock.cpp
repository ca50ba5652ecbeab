#include "base/clock.hpp"

#include <cstdio>

namespace bc {

namespace {

// Reads exactly `width` digits at `at`; -1 when they are not digits.
int digits(std::string_view text, std::size_t at, std::size_t width) {
  int value = 0;
  for (std::size_t i = at; i < at + width; ++i) {
    if (text[i] < '0' || text[i] > '9')
      return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

std::string to_rfc3339(time_point t) {
  auto day = std::chrono::floor<std::chrono::days>(t);
  std::chrono::year_month_day date{day};
  std::chrono::hh_mm_ss time{t - day};
  char out[40];
  std::snprintf(
      out, sizeof out, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
      static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()),
      static_cast<int>(time.subseconds().count()));
  return out;
}

result<time_point> from_rfc3339(std::string_view text) {
  auto bad = fail(errc::invalid_input, "not a UTC time of RFC 3339");
  bool fraction = text.size() == 24;
  if (text.size() != 20 && !fraction)
    return bad;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text.back() != 'Z' || (fraction && text[19] != '.'))
    return bad;
  int year = digits(text, 0, 4), month = digits(text, 5, 2),
      day = digits(text, 8, 2), hour = digits(text, 11, 2),
      minute = digits(text, 14, 2), second = digits(text, 17, 2),
      ms = fraction ? digits(text, 20, 3) : 0;
  if (year < 0 || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 59 || ms < 0)
    return bad;
  std::chrono::year_month_day date{
      std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
      std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok())
    return bad;
  return time_point{std::chrono::sys_days{date}.time_since_epoch() +
                    std::chrono::hours{hour} + std::chrono::minutes{minute} +
                    seconds{second} + milliseconds{ms}};
}

}  // namespace bc
