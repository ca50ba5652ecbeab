#include "base/ids.hpp"

#include "base/encoding.hpp"

#include <algorithm>

namespace bc::detail {

bool id_matches(std::string_view prefix, std::string_view text) noexcept {
  if (!text.starts_with(prefix))
    return false;
  auto body = text.substr(prefix.size());
  return body.size() >= 26 && body.size() <= 52 &&
         std::all_of(body.begin(), body.end(), is_crockford);
}

std::string time_ordered(std::string_view prefix, time_point now,
                         std::span<const std::uint8_t, 10> random) {
  std::array<std::uint8_t, 16> raw{};
  auto ms = static_cast<std::uint64_t>(to_millis(now));
  for (std::size_t i = 0; i < 6; ++i)
    raw[i] = static_cast<std::uint8_t>(ms >> (8 * (5 - i)));
  std::copy(random.begin(), random.end(), raw.begin() + 6);
  return std::string{prefix} + to_crockford(raw);
}

std::string hashed(std::string_view prefix,
                   std::span<const std::uint8_t, 32> digest) {
  return std::string{prefix} + to_crockford(digest);
}

}  // namespace bc::detail
