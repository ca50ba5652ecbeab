#include "ops/cli/relative_time.hpp"

namespace bc::cli {

namespace {

constexpr std::int64_t minute = 60;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;
constexpr std::int64_t longest = 100 * day;

std::string in_largest_unit(std::int64_t seconds) {
  if (seconds < minute)
    return std::to_string(seconds) + "s";
  if (seconds < hour)
    return std::to_string(seconds / minute) + "m";
  if (seconds < day)
    return std::to_string(seconds / hour) + "h";
  return std::to_string(seconds / day) + "d";
}

}  // namespace

std::string relative_time(time_point at, time_point now) {
  const auto ahead = (to_millis(at) - to_millis(now)) / 1000;
  if (ahead == 0)
    return "now";
  const auto size = ahead < 0 ? -ahead : ahead;
  if (size >= longest)
    return to_rfc3339(at).substr(0, sizeof "2026-11-29" - 1);
  return ahead < 0 ? in_largest_unit(size) + " ago"
                   : "in " + in_largest_unit(size);
}

}  // namespace bc::cli
