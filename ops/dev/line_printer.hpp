#pragma once

#include "base/clock.hpp"

#include <memory>
#include <string>

namespace bc::dev {

/// Writes lines to a descriptor on a thread of its own, so that a terminal
/// that was paused, or a pipe nobody reads, holds up no join and no stop. Any
/// thread; lines beyond 10,000 waiting are dropped, and their number is told.
class line_printer {
 public:
  explicit line_printer(int fd);
  line_printer(const line_printer&) = delete;
  line_printer& operator=(const line_printer&) = delete;
  ~line_printer();

  void say(const std::string& line);
  /// Waits until all is written, at most so long; nothing is printed after it.
  void finish(milliseconds limit);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace bc::dev
