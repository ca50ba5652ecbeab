#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace bc::test {

/// The Kolmogorov-Smirnov statistic of two samples: the greatest distance
/// between their distribution functions, 0 to 1.
template <class T>
double ks_distance(std::vector<T> a, std::vector<T> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double most = 0;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const T at = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == at)
      ++i;
    while (j < b.size() && b[j] == at)
      ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / double(a.size()) -
                                   static_cast<double>(j) / double(b.size())));
  }
  return most;
}

/// Samples of one distribution, of these sizes, are further apart than this
/// once in 1,000 times.
inline double ks_limit(std::size_t a, std::size_t b) {
  const auto n = static_cast<double>(a), m = static_cast<double>(b);
  return 1.949 * std::sqrt((n + m) / (n * m));
}

}  // namespace bc::test
