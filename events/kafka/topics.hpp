#pragma once

#include "events/kafka/cluster.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::events::kafka {

/// One topic for all public events, each tenant's in order; or one for each
/// event type, ordered within a topic and merged by `sequence`.
enum class layout { single, type };
/// "single", "type", as in the configuration.
[[nodiscard]] std::string_view text_of(layout l) noexcept;
[[nodiscard]] std::optional<layout> parse_layout(
    std::string_view text) noexcept;

/// Of a topic of events.
constexpr std::int32_t most_partitions = 1'000;

/// The deployment's topics.
struct topic_names {
  layout events_by = layout::single;
  std::string prefix = "better-compute";
  std::int32_t partitions = 12;

  /// Where events of this type go.
  [[nodiscard]] std::string events(std::string_view type) const;
  /// The control topic: how far the journal was published.
  [[nodiscard]] std::string control() const;
  /// What could not be published because of its size.
  [[nodiscard]] std::string parked() const;
  /// The journal's signed checkpoints.
  [[nodiscard]] std::string checkpoints() const;

  /// All topics of events, once each.
  [[nodiscard]] std::vector<std::string> event_topics() const;
  /// Every topic.
  [[nodiscard]] std::vector<topic_plan> plans() const;
};

/// INVALID_CONFIG for a prefix Kafka does not take or a number of partitions
/// out of 1 to 1000.
[[nodiscard]] result<void> check_names(const topic_names& names);

}  // namespace bc::events::kafka
