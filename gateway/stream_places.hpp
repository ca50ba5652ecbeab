#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace bc::gateway {

/// Counts open event streams, of all and of each owner. Any thread.
class stream_places {
 public:
  stream_places(std::size_t most, std::size_t most_each)
      : most_(most), most_each_(most_each) {}

  /// False, and nothing counted, when there are as many as there may be.
  [[nodiscard]] bool take(const std::string& owner) {
    std::lock_guard lock{mutex_};
    if (taken_ >= most_)
      return false;
    auto& own = of_[owner];
    if (own >= most_each_)
      return false;
    ++own;
    ++taken_;
    return true;
  }

  void give_back(const std::string& owner) {
    std::lock_guard lock{mutex_};
    --taken_;
    if (auto it = of_.find(owner); --it->second == 0)
      of_.erase(it);
  }

  [[nodiscard]] std::size_t taken() const {
    std::lock_guard lock{mutex_};
    return taken_;
  }

 private:
  const std::size_t most_;
  const std::size_t most_each_;
  mutable std::mutex mutex_;
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t> of_;
};

}  // namespace bc::gateway
