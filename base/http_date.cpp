#include "base/http_date.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>

namespace bc {

namespace {

constexpr std::int64_t ms_in_s = 1'000;
constexpr const char* form = "%a, %d %b %Y %H:%M:%S GMT";

}  // namespace

// The names of days and months are those of the C locale, which our programs
// never leave.
std::string http_date(time_point t) {
  auto since = static_cast<std::time_t>(to_millis(t) / ms_in_s);
  std::tm parts{};
  ::gmtime_r(&since, &parts);
  std::array<char, 64> text{};
  auto size = std::strftime(text.data(), text.size(), form, &parts);
  return {text.data(), size};
}

std::optional<time_point> from_http_date(std::string_view text) {
  std::tm parts{};
  std::string copy{text};
  const char* end = ::strptime(copy.c_str(), form, &parts);
  if (end == nullptr || *end != '\0')
    return std::nullopt;
  auto since = ::timegm(&parts);
  if (since < 0)
    return std::nullopt;
  auto time = from_millis(static_cast<std::int64_t>(since) * ms_in_s);
  // strptime takes blanks, one-digit days and wrong weekdays as well.
  return http_date(time) == text ? std::optional{time} : std::nullopt;
}

}  // namespace bc
