#include "actors/requests/places.hpp"

#include <algorithm>
#include <charconv>

namespace bc::actors {

std::optional<std::int64_t> free_place(std::vector<std::int64_t> taken,
                                       std::int64_t places,
                                       std::uint64_t seed) {
  std::erase_if(taken, [places](auto n) { return n < 0 || n >= places; });
  std::ranges::sort(taken);
  auto same = std::ranges::unique(taken);
  taken.erase(same.begin(), same.end());
  const auto left = places - static_cast<std::int64_t>(taken.size());
  if (left <= 0)
    return std::nullopt;
  // The nth of the free ones.
  auto place =
      static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(left));
  for (auto n : taken)
    if (n <= place)
      ++place;
  return place;
}

std::string places_text(const std::vector<std::int64_t>& places) {
  std::string out;
  for (auto n : places)
    out.append(out.empty() ? "" : ",").append(std::to_string(n));
  return out;
}

std::vector<std::int64_t> read_places(std::string_view text) {
  std::vector<std::int64_t> out;
  const auto* at = text.data();
  const auto* const end = at + text.size();
  while (at != end) {
    std::int64_t n = 0;
    auto [next, bad] = std::from_chars(at, end, n);
    if (bad != std::errc{})
      break;
    out.push_back(n);
    at = next == end ? next : next + 1;
  }
  return out;
}

}  // namespace bc::actors
