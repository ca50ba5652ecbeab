#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

namespace bc {

/// So many things a second, and so many at once after a pause. Any thread.
class token_bucket {
 public:
  using steady = std::chrono::steady_clock;

  token_bucket(double per_second, double burst)
      : per_second_(per_second), burst_(burst), tokens_(burst) {}

  /// Takes one; false when there is none.
  [[nodiscard]] bool take(steady::time_point now) {
    std::lock_guard lock{mutex_};
    const std::chrono::duration<double> passed =
        std::max(now - at_, steady::duration::zero());
    tokens_ = std::min(burst_, tokens_ + passed.count() * per_second_);
    at_ = std::max(at_, now);
    if (tokens_ < 1)
      return false;
    tokens_ -= 1;
    return true;
  }

 private:
  const double per_second_;
  const double burst_;
  std::mutex mutex_;
  double tokens_;
  steady::time_point at_{};
};

}  // namespace bc
