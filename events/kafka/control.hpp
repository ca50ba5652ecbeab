#pragma once

#include "events/incarnations.hpp"
#include "events/kafka/cluster.hpp"
#include "events/kafka/topics.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace bc::events::kafka {

/// How far the journal was published: written in the transaction that carries
/// the events, to a compacted topic of one partition.
struct control_record {
  std::string incarnation;
  std::uint64_t position = 0;
  std::string hash;              // of the event at that position
  std::uint64_t checkpoint = 0;  // position of the last one published
  /// Of the topics of events, as configured when it was written; 0 and none:
  /// nobody said.
  std::int32_t partitions = 0;
  std::optional<layout> events_by = std::nullopt;
  /// Every event after this position lies in that layout's topic, in its key's
  /// partition; those up to it may lie in another.
  std::uint64_t placed_after = 0;
  bool operator==(const control_record&) const = default;
};

/// Up to where events may lie in another topic than these, or in another
/// partition than that of their key, by the last record.
[[nodiscard]] std::uint64_t misplaced_until(const control_record& c,
                                            const topic_names& now) noexcept;

[[nodiscard]] record to_record(const control_record& c,
                               const std::string& topic,
                               const std::string& transactional_id);

/// The value of such a record, also of older programs. INTERNAL for any other
/// text.
[[nodiscard]] result<control_record> parse_control(const std::string& text);

/// The last committed control record of this id; nullopt when there is none.
/// Reads behind every transaction that was open when it was asked. INTERNAL
/// for a record that cannot be understood.
[[nodiscard]] result<std::optional<control_record>> read_control(
    cluster& from, const std::string& topic,
    const std::string& transactional_id, const keep_going& go_on);

/// Where no control record is: INVALID_STATE, naming the last one, when the
/// topics hold events of this `source` all the same. To begin anew would give
/// subscribers the whole history behind what they have.
[[nodiscard]] result<void> must_be_unpublished(cluster& from,
                                               const topic_names& topics,
                                               const std::string& source,
                                               const keep_going& go_on);

/// INVALID_STATE, naming both, when the journal is not the one that was
/// published: it ends before the record, or the event there is another.
[[nodiscard]] result<void> match_control(journal& store,
                                         const incarnations& known,
                                         const control_record& c);

}  // namespace bc::events::kafka
