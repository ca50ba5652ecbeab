#pragma once

#include "actors/ports.hpp"
#include "events/journal.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace bc::actors {

/// What gateways must hear of an event: that a session was taken over from,
/// that a certificate or a node is over, that a command waits; nullopt:
/// nothing.
[[nodiscard]] std::optional<gateway_notice> notice_of(
    const events::envelope& e);

/// Turns the journal's events, this process's own and those it tails, into
/// notices. Thread-safe.
class notices final : public notice_port {
 public:
  [[nodiscard]] std::shared_ptr<void> watch(hear each) override;
  [[nodiscard]] milliseconds age() const override;
  /// Other processes write too; all that was in the journal then has been heard
  /// of.
  void tailed(std::chrono::steady_clock::time_point as_of);
  /// Each event of the journal, in order. A watcher that throws is left out.
  void hear_of(const events::envelope& e);

 private:
  using steady = std::chrono::steady_clock;
  static constexpr auto nobody_else = steady::duration::max();

  struct watcher;
  [[nodiscard]] std::vector<std::shared_ptr<watcher>> all();

  std::atomic<steady::duration> as_of_{nobody_else};  // since its epoch
  std::mutex mutex_;
  std::vector<std::weak_ptr<watcher>> watchers_;
};

}  // namespace bc::actors
