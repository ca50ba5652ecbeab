#pragma once

#include <algorithm>
#include <chrono>

namespace bc::actors {

/// After a call that found the store away and took its time to, calls are
/// refused untried for as long as that took: what queues behind a thread that
/// blocks is answered in bounded time, and the store is still tried half of
/// the time.
class breaker {
 public:
  using instant = std::chrono::steady_clock::time_point;

  [[nodiscard]] bool is_open(instant now) const { return now < closes_; }

  void failed(instant began, instant ended) {
    if (ended - began >= shortest)
      closes_ = ended + std::min<instant::duration>(ended - began, longest);
  }

 private:
  static constexpr std::chrono::milliseconds shortest{250};
  static constexpr std::chrono::seconds longest{5};
  instant closes_{};
};

}  // namespace bc::actors
