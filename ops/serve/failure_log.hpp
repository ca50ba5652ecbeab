#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace bc::serve {

/// A line in the log for each answer that says the service failed, with the
/// request's id, which is all that who asked has to go by: "join failed: 503
/// UNAVAILABLE: … (req_…)". Of a flood so many a second; what was left out is
/// counted in the next line. Any thread.
class failure_log {
 public:
  static constexpr std::uint64_t most_a_second = 50;

  explicit failure_log(std::function<void(const std::string&)> write);

  /// An answer by its HTTP status and its body, {"error":{"code","message"}}.
  /// One below 500 is nothing to tell.
  void tell(std::string_view what, int status, std::string_view body,
            std::string_view request);

 private:
  using steady = std::chrono::steady_clock;
  /// How many were left out before this one, when it may be told.
  [[nodiscard]] bool take_place(std::uint64_t& left_out);

  const std::function<void(const std::string&)> write_;
  std::mutex mutex_;
  steady::time_point second_;
  std::uint64_t told_ = 0;  // in this second
  std::uint64_t left_out_ = 0;
};

}  // namespace bc::serve
