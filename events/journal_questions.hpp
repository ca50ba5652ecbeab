#pragma once

#include "events/journal.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace bc::events::detail {

/// What judging and writing a group (append_group) asks a ledger for, so that
/// a store can read it all at once. The names are the group's own.
struct questions {
  std::unordered_set<std::string_view> batches;
  std::unordered_set<std::string_view> streams;  // their versions
  std::unordered_set<std::string_view> claims;
  std::unordered_set<std::string_view> budgets;
  /// How many of the stream's newest times.
  std::unordered_map<std::string_view, std::int64_t> limiters;
};

[[nodiscard]] questions questions_of(std::span<const batch> group);

}  // namespace bc::events::detail
