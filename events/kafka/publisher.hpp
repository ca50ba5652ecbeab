#pragma once

#include "base/clock.hpp"
#include "events/journal.hpp"
#include "events/kafka/properties.hpp"
#include "events/kafka/topics.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace bc::events::kafka {

struct publisher_options {
  /// librdkafka's: `bootstrap.servers`, security, time-outs.
  properties client;
  topic_names topics;
  /// One for each deployment, for ever: it fences the predecessor.
  std::string transactional_id = "better-compute-publisher";
  std::string source;             // the deployment, in `ce_source`
  std::size_t max_events = 1000;  // of the journal, in one transaction
  milliseconds poll{250};         // a look at the journal without wake()
  milliseconds halted_retry{10'000};
  /// One line for each change of state and each parked event.
  std::function<void(const std::string&)> log = nullptr;
};

enum class publishing {
  standby,     // another process holds the lease
  connecting,  // or reconnecting
  running,
  retrying,  // Kafka or the journal does not answer
  halted,    // an operator is needed; nothing is published
  stopped,
};
[[nodiscard]] std::string_view text_of(publishing state) noexcept;

struct publisher_stats {
  publishing state = publishing::connecting;
  std::uint64_t position = 0;  // everything up to here is in Kafka
  std::uint64_t head = 0;      // of the journal, when last seen
  std::uint64_t lag_events = 0;
  seconds lag{0};               // age of the first event that is not in Kafka
  std::uint64_t published = 0;  // events, by this process
  std::uint64_t parked = 0;     // events too large for Kafka, likewise
  std::uint64_t sessions = 0;   // producers made
  std::optional<fault> last_fault;  // of the state; gone when running again
};

/// Publishes the journal's public events in order, on a thread of its own
/// (spec: DESIGN section 6; EVENTING 1.3). At most once a producer is at it:
/// by the lease, and by Kafka's fencing where the lease was lost unnoticed.
/// Nothing is skipped but what Kafka refuses for its size, which is parked.
class publisher {
 public:
  /// `epoch` answers the lease's epoch, nullopt while it is not held; called
  /// on the thread. The journal must outlive the publisher. INVALID_CONFIG
  /// for options that cannot be; Kafka itself is not asked yet.
  [[nodiscard]] static result<std::unique_ptr<publisher>> start(
      publisher_options options, journal& store,
      std::function<std::optional<std::uint64_t>()> epoch);
  virtual ~publisher() = default;

  /// There may be new events. Any thread; returns at once.
  virtual void wake() = 0;
  /// Any thread; never blocks on Kafka or the journal.
  [[nodiscard]] virtual publisher_stats stats() const = 0;
  /// Ends the thread; a transaction that is under way is finished if it can be
  /// in a few seconds, else left to be aborted.
  virtual void stop() = 0;
};

}  // namespace bc::events::kafka
