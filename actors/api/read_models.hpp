#pragma once

#include "base/recent_map.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace bc::actors {

/// How far the read models are, and what each principal wrote last through
/// this process (DESIGN section 5, read-your-writes). Any thread; bounded.
class read_models {
 public:
  using instant = std::chrono::steady_clock::time_point;

  explicit read_models(std::size_t most_principals = 100'000)
      : written_(most_principals) {}

  /// The principal's newest own event; the least recent principals are
  /// forgotten.
  void wrote(const std::string& tenant, const std::string& principal,
             std::uint64_t position);
  /// 0 when nothing is known.
  [[nodiscard]] std::uint64_t last_of(const std::string& tenant,
                                      const std::string& principal) const;

  /// The newest position the read models are known to show.
  [[nodiscard]] std::uint64_t reached() const;
  void reach(std::uint64_t position);
  /// True for one of all that wait, each 10 ms: that one asks the models.
  [[nodiscard]] bool may_ask(instant now);

 private:
  mutable std::mutex mutex_;
  recent_map<std::uint64_t> written_;  // by principal
  std::uint64_t reached_ = 0;
  instant asked_{};
};

}  // namespace bc::actors
