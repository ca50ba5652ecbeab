#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

namespace bc::actors {

inline constexpr std::chrono::milliseconds release_step{100};

/// When a refusal is released: the first multiple of the step after `arrival`
/// that is not before `ready`. In the clock's own units, since what is rounded
/// away would tell how long the work took.
template <class Clock, class Duration>
[[nodiscard]] constexpr std::chrono::time_point<Clock, Duration> release_at(
    std::chrono::time_point<Clock, Duration> arrival,
    std::chrono::time_point<Clock, Duration> ready,
    std::chrono::milliseconds step_of_now = release_step) {
  const Duration step = step_of_now;
  // A clock set back while the join ran must not release it at once.
  const auto worked = std::max(ready - arrival, Duration::zero());
  const auto whole = worked / step + (worked % step > Duration::zero() ? 1 : 0);
  return arrival + step * std::max<decltype(whole)>(whole, 1);
}

/// The step of all refusals of a process, which grows with its load. With a
/// fixed one, work that takes longer would tell by the number of steps how
/// often it had to queue, and so where it was refused. So the step doubles,
/// from 100 ms to 1.6 s at most, until no call takes longer, whatever becomes
/// of it, and comes down by half a minute after it was last needed. A refusal
/// tells how loaded the process is; of itself only that it was the one that
/// took too long, five times at most before all take one step. Above the
/// longest step the number of steps tells as before.
class release_pace {
 public:
  using time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::milliseconds longest{1'600};
  static constexpr std::chrono::seconds kept{60};

  /// A call that came at `arrival` is answered now. Any thread.
  /// Answers the step as it is from then on.
  std::chrono::milliseconds note(time arrival, time now) {
    std::lock_guard lock{mutex_};
    auto needed = release_step;
    while (needed < longest && needed < now - arrival)
      needed *= 2;
    // Once for each minute, as if calls had come meanwhile.
    for (; step_ > needed && now - needed_at_ >= kept; needed_at_ += kept)
      step_ /= 2;
    if (needed >= step_) {
      step_ = needed;
      needed_at_ = now;
    }
    return step_;
  }

 private:
  std::mutex mutex_;
  std::chrono::milliseconds step_ = release_step;
  time needed_at_{};
};

}  // namespace bc::actors
