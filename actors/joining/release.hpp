#pragma once

#include <algorithm>
#include <chrono>

namespace bc::actors {

inline constexpr std::chrono::milliseconds release_step{100};

/// When a refusal is released: the first multiple of 100 ms after `arrival`
/// that is not before `ready`. In the clock's own units, since what is rounded
/// away would tell how long the work took.
template <class Clock, class Duration>
[[nodiscard]] constexpr std::chrono::time_point<Clock, Duration> release_at(
    std::chrono::time_point<Clock, Duration> arrival,
    std::chrono::time_point<Clock, Duration> ready) {
  const Duration step = release_step;
  // A clock set back while the join ran must not release it at once.
  const auto worked = std::max(ready - arrival, Duration::zero());
  const auto whole = worked / step + (worked % step > Duration::zero() ? 1 : 0);
  return arrival + step * std::max<decltype(whole)>(whole, 1);
}

}  // namespace bc::actors
