#pragma once

#include "base/clock.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace bc::serve {

/// Does something again and again on a thread of its own, from start() to
/// stop() or its end.
class repeater {
 public:
  repeater() = default;
  repeater(const repeater&) = delete;
  repeater& operator=(const repeater&) = delete;
  ~repeater();

  /// `every`: before the first time, and between two. Once.
  void start(milliseconds every, std::function<void()> what);
  [[nodiscard]] bool is_started() const { return thread_.joinable(); }
  /// Ends the thread, after what it is doing.
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace bc::serve
