#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace bc::serve {

/// Joins, or renewals, by how they ended, since the start. Any thread.
class call_counts {
 public:
  /// What a 200 is called: "admitted", "renewed".
  explicit call_counts(std::string_view done) : done_(done) {}

  void count(int http_status);
  /// Each outcome and its count, also those that never came.
  void each(
      const std::function<void(std::string_view, std::uint64_t)>& f) const;

 private:
  std::string_view done_;
  std::array<std::atomic<std::uint64_t>, 6> counts_{};
};

}  // namespace bc::serve
