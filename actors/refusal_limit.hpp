#pragma once

#include "base/clock.hpp"
#include "events/journal.hpp"

namespace bc::actors {

inline constexpr std::size_t refusal_limit = 60;
inline constexpr seconds refusal_window{60};

/// May one more event be written now (spec: joining#refusals)? The store asks
/// itself the same, under its lock.
[[nodiscard]] inline bool has_room(const events::limiter_row& row,
                                   time_point now) {
  return row.recent.size() < refusal_limit ||
         row.recent[refusal_limit - 1] <= now - refusal_window;
}

}  // namespace bc::actors
