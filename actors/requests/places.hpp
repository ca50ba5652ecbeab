#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::actors {

/// One of the numbers below `places` that is in none of the lists, whichever
/// `seed` says; nullopt: all are taken. So crowds that open requests at once
/// seldom want the same place.
[[nodiscard]] std::optional<std::int64_t> free_place(
    std::vector<std::int64_t> taken, std::int64_t places, std::uint64_t seed);

/// "1,5,9", as a query's text, and back.
[[nodiscard]] std::string places_text(const std::vector<std::int64_t>& places);
[[nodiscard]] std::vector<std::int64_t> read_places(std::string_view text);

}  // namespace bc::actors
