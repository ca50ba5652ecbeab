#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace bc::gateway {

struct relay_watch_times {
  /// The process that is watched said nothing (not even to a ping): another is
  /// asked.
  milliseconds silence{1'500};
  /// No process is watched: what the gateway knows may be wrong by now.
  milliseconds lost{2'000};
  /// For a process to say that it will tell; then another is asked.
  milliseconds answer{1'000};
};

/// By which API process a gateway hears of changes (DESIGN section 7): one at a
/// time, another when it is lost. Pure; processes are numbered, times passed
/// in.
class relay_watch {
 public:
  using time = std::chrono::steady_clock::time_point;
  relay_watch(relay_watch_times times, time now)
      : times_(times), heard_(now), told_(true) {}

  /// Whom to ask now; `usable` for each process.
  [[nodiscard]] std::optional<std::size_t> ask(const std::vector<bool>& usable,
                                               time now);
  /// It will tell. True: what was missed must be made good; false: it was not
  /// asked.
  [[nodiscard]] bool on_watching(std::size_t from, time now);
  /// Anything came from it.
  void on_heard(std::size_t from, time now);
  /// Its connection is gone.
  void on_gone(std::size_t from);
  /// True, once each time: none is watched for too long.
  [[nodiscard]] bool is_lost(time now);
  /// The one that is watched.
  [[nodiscard]] std::optional<std::size_t> held() const { return held_; }

 private:
  const relay_watch_times times_;
  std::optional<std::size_t> held_;
  std::optional<std::size_t> asked_;
  std::optional<std::size_t> last_;  // asked before
  time asked_at_;
  time heard_;  // of the one that is or was held
  bool told_;
};

}  // namespace bc::gateway
