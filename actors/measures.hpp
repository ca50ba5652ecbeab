#pragma once

#include "base/histogram.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace bc::actors {

/// Refused joins and renewals by attestor and reason, all of them: also those
/// that the limiter keeps out of the events. Both are closed lists. Any thread.
class refusal_counts {
 public:
  void count(std::string_view attestor, std::string_view reason) {
    std::lock_guard lock{mutex_};
    ++counts_[{std::string{attestor}, std::string{reason}}];
  }
  void each(const std::function<void(const std::string& attestor,
                                     const std::string& reason, std::uint64_t)>&
                f) const {
    std::lock_guard lock{mutex_};
    for (const auto& [of, count] : counts_)
      f(of.first, of.second, count);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts_;
};

/// What the actors count as they go, since the start; for /metrics.
struct measures {
  refusal_counts refusals;
  /// Batches that the journal writer gave to the store at once.
  histogram append_batches{{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}};
  /// Seconds that the store took for them, lookups of unknown outcomes
  /// included.
  histogram append_seconds{{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                            0.1, 0.25, 0.5, 1, 2.5, 5}};
};

/// How much waits behind a door, and how much may.
struct queue_depth {
  std::string_view name;
  std::size_t inside = 0;
  std::size_t limit = 0;
};

}  // namespace bc::actors
