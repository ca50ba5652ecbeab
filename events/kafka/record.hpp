#pragma once

#include "events/catalog.hpp"
#include "events/journal.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bc::events::kafka {

using headers = std::vector<std::pair<std::string, std::string>>;

/// What is sent to Kafka.
struct record {
  std::string topic;
  std::int32_t partition = 0;
  std::string key;  // empty: none
  kafka::headers headers;
  std::string value;
};

/// What was read from Kafka.
struct received {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::optional<std::string> key;
  kafka::headers headers;
  std::optional<std::string> value;

  /// The first header of this name.
  [[nodiscard]] const std::string* header(std::string_view name) const;
};

/// The partition of a key among so many, as Kafka's own clients choose it
/// (murmur2): a producer of another language finds the same one.
[[nodiscard]] std::int32_t partition_of(std::string_view key,
                                        std::int32_t count);

/// The CloudEvents binary form (`ce_*` headers, JSON value; key: the tenant)
/// of a public event, for a topic of so many partitions.
[[nodiscard]] record record_of(const public_event& event,
                               const std::string& topic, const std::string& key,
                               std::int32_t partitions);

}  // namespace bc::events::kafka
