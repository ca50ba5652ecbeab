#pragma once

#include "events/journal.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace bc::events {

/// Keeps asking for the store's lease on a thread of its own, and knows
/// whether this process holds it: by the monotonic clock, with a margin, so
/// that a process that was frozen learns in time that it no longer does.
class lease_keeper {
 public:
  /// Time that never goes back and goes on while the process or the machine
  /// sleeps.
  using monotonic = std::function<milliseconds()>;

  /// `holder` names the process for people ("api-1 pid 4711"); a random part
  /// is added, since two processes of one name must not share a lease. The
  /// lease is renewed each third of `ttl`; a tenth of it is the margin.
  /// `time` is replaced in tests.
  [[nodiscard]] static std::unique_ptr<lease_keeper> start(journal& store,
                                                           std::string holder,
                                                           seconds ttl,
                                                           monotonic time = {});
  virtual ~lease_keeper() = default;
  /// The epoch while the lease is held, else nullopt. Any thread.
  [[nodiscard]] virtual std::optional<std::uint64_t> epoch() const = 0;
  /// Gives the lease back and ends the thread; waits for a store call under
  /// way. Later calls do nothing.
  virtual void stop() = 0;
};

}  // namespace bc::events
