#pragma once

#include "base/clock.hpp"
#include "events/journal.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace bc::projections {

struct tailer_options {
  std::string url;           // of the store in Postgres
  events::journal& journal;  // the same store; outlives the tailer
  /// The lease's epoch while it is this process's, else nullopt.
  std::function<std::optional<std::uint64_t>()> epoch;
  /// How long an event may wait when nobody calls wake().
  milliseconds poll{200};
  /// Told, from the tailer's thread, of each stream that is parked and of each
  /// fault that holds it up: to be logged as errors.
  std::function<void(const std::string&)> alarm = nullptr;
  /// Told once when the read models are not of this program's version: to be
  /// logged as a warning.
  std::function<void(const std::string&)> warn = nullptr;
};

struct tailer_stats {
  std::uint64_t position = 0;       // of the last event in the read models
  std::uint64_t head = 0;           // of the journal, at the last look
  std::uint64_t parked = 0;         // streams
  std::optional<fault> last_fault;  // nullopt while it gets on
};

/// Keeps the read models in Postgres up with the journal, on a thread of its
/// own, while the lease is this process's. Events are applied in groups, each
/// in one transaction with the checkpoint, whose row is locked and which moves
/// only from where it was seen: so nothing is left out or applied twice,
/// whoever else runs and whatever is lost in between. The lease's epoch is
/// read there too, without a lock: it spares two processes the same work, no
/// more. A poison event parks its stream, and the rest goes on. Rows of another
/// version (checkpoint.hpp) are left as they are, and looked at until they are
/// made anew.
class tailer {
 public:
  [[nodiscard]] static std::unique_ptr<tailer> start(tailer_options options);
  virtual ~tailer() = default;
  /// Something was appended. Any thread, cheap.
  virtual void wake() = 0;
  [[nodiscard]] virtual tailer_stats stats() const = 0;
  /// Ends the thread, after the transaction it is in.
  virtual void stop() = 0;
};

}  // namespace bc::projections
