#pragma once

#include "actors/messages.hpp"

#include <atomic>
#include <cstddef>
#include <memory>

namespace bc::actors {

/// Bounds how much waits behind a door; any thread.
class gate : public std::enable_shared_from_this<gate> {
 public:
  explicit gate(std::size_t limit) : limit_(limit) {}

  /// Null when it is full; else a place, free again when the pass is gone.
  [[nodiscard]] pass enter() {
    if (inside_.fetch_add(1) >= limit_) {
      inside_.fetch_sub(1);
      return nullptr;
    }
    return pass{this, [self = shared_from_this()](void*) {
                  self->inside_.fetch_sub(1);
                }};
  }

  [[nodiscard]] std::size_t inside() const { return inside_; }
  [[nodiscard]] std::size_t limit() const { return limit_; }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> inside_{0};
};

}  // namespace bc::actors
