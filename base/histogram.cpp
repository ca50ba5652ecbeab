#include "base/histogram.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

namespace bc {

histogram::histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), between_(bounds_.size() + 1) {}

void histogram::add(double value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  const auto which =
      static_cast<std::size_t>(std::distance(bounds_.begin(), at));
  std::lock_guard lock{mutex_};
  ++between_[which];
  sum_ += value;
}

histogram::counts histogram::read() const {
  counts out;
  out.bounds = bounds_;
  std::lock_guard lock{mutex_};
  std::partial_sum(between_.begin(), between_.end(),
                   std::back_inserter(out.at_most));
  out.sum = sum_;
  return out;
}

}  // namespace bc
