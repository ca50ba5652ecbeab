#pragma once

#include "events/kafka/properties.hpp"
#include "events/kafka/record.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bc::events::kafka {

/// A topic as it should be.
struct topic_plan {
  std::string name;
  std::int32_t partitions = 1;
  properties config = {};
};

/// Offsets [from, until) of a partition.
struct stretch {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t from = 0;
  std::int64_t until = 0;
};

/// Questions to the brokers, and reading. Every call may block, one question
/// for 5 s at most; between questions `go_on` is asked.
class cluster {
 public:
  [[nodiscard]] static result<std::unique_ptr<cluster>> connect(
      const properties& client);
  virtual ~cluster() = default;

  /// nullopt when there is no such topic.
  [[nodiscard]] virtual result<std::optional<std::int32_t>> partitions_of(
      const std::string& topic) = 0;

  /// Makes the topics that are missing. INVALID_CONFIG naming one whose number
  /// of partitions is another: its keys would move, and order be lost.
  [[nodiscard]] virtual result<void> ensure(
      const std::vector<topic_plan>& topics, const keep_going& go_on) = 0;

  /// All that is kept of the partition now, also what is not yet committed.
  [[nodiscard]] virtual result<stretch> extent(const std::string& topic,
                                               std::int32_t partition) = 0;
  /// extent() of every partition.
  [[nodiscard]] virtual result<std::vector<stretch>> extents(
      const std::string& topic, const keep_going& go_on) = 0;

  /// Reads what is committed in these stretches, in order per partition; waits
  /// for transactions in them to end. UNAVAILABLE when for a minute nothing
  /// moved, or when a stretch was deleted meanwhile.
  using on_received = std::function<result<void>(const received&)>;
  [[nodiscard]] virtual result<void> read(const std::vector<stretch>& what,
                                          const on_received& each,
                                          const keep_going& go_on) = 0;
};

}  // namespace bc::events::kafka
