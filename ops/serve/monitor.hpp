#pragma once

#include "base/clock.hpp"
#include "ops/serve/health.hpp"

#include <functional>
#include <memory>

namespace bc::serve {

/// Looks at the server once here and then, once a second, on a thread of its
/// own, so that a probe
/// of /readyz or /metrics waits for no store: it is told the last look. A look
/// that hangs shows as one that is no longer fresh.
class monitor {
 public:
  explicit monitor(std::function<health()> look);
  monitor(const monitor&) = delete;
  monitor& operator=(const monitor&) = delete;
  ~monitor();

  /// The last look. Any thread; never blocks for long.
  [[nodiscard]] health last() const;
  /// Ends the thread, after the look that is going on.
  void stop();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace bc::serve
