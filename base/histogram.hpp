#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace bc {

/// How often a value was at most each of some bounds, and their sum. Any
/// thread.
class histogram {
 public:
  /// `bounds` rise; values over the last one are counted too.
  explicit histogram(std::vector<double> bounds);

  void add(double value);

  struct counts {
    std::vector<double> bounds;
    /// For each bound, the values that were at most it; then all of them.
    std::vector<std::uint64_t> at_most;
    double sum = 0;
  };
  [[nodiscard]] counts read() const;

 private:
  const std::vector<double> bounds_;
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> between_;  // one more than bounds
  double sum_ = 0;
};

}  // namespace bc
