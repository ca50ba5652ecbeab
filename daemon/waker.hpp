#pragma once

#include "daemon/renewal_plan.hpp"

namespace bc::daemon {

/// What the machine's clocks say now (CLOCK_REALTIME, CLOCK_BOOTTIME).
[[nodiscard]] clock_reading read_clocks();

/// A sleep that ends when its time is over, also of a machine that slept
/// meanwhile, at once when somebody sets the machine's clock, and by wake()
/// (CASES 100).
class waker {
 public:
  /// Throws std::runtime_error when there are no descriptors left.
  waker();
  waker(const waker&) = delete;
  waker& operator=(const waker&) = delete;
  ~waker();

  /// At most this long; one thread.
  void sleep(milliseconds most);
  /// From any thread; a wake() before sleep() counts.
  void wake() noexcept;

 private:
  int wakeups_;
  int timer_;
  int clock_set_;
};

}  // namespace bc::daemon
