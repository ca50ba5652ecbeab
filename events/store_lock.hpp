#pragma once

#include "base/result.hpp"

#include <string>
#include <utility>

namespace bc::events::detail {

/// The exclusive right to a store: a lock on "<path>.lock", which the kernel
/// gives back however the process ends. The file holds the holder's pid.
class store_lock {
 public:
  /// INVALID_STATE naming the process that holds it.
  [[nodiscard]] static result<store_lock> take(const std::string& path);
  store_lock(store_lock&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  store_lock& operator=(store_lock&&) = delete;
  ~store_lock();

 private:
  explicit store_lock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace bc::events::detail
