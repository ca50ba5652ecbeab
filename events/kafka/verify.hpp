#pragma once

#include "events/journal.hpp"
#include "events/kafka/control.hpp"
#include "events/kafka/properties.hpp"
#include "events/kafka/topics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bc::events::kafka {

struct verify_options {
  properties client;
  topic_names topics;
  std::string transactional_id = "better-compute-publisher";
  std::string source;  // empty: the one that the first event names
};

/// One thing that is wrong.
struct finding {
  /// `partitions`: the number of a topic's partitions is not, or was not, the
  /// configured one; one finding for all events it is about.
  enum class kind {
    missing,
    repeated,
    altered,
    out_of_order,
    unknown,
    partitions
  };
  kind what;
  std::uint64_t position = 0;  // 0: no position can be told
  std::string text;
};
[[nodiscard]] std::string_view text_of(finding::kind what) noexcept;

struct verify_report {
  std::optional<control_record> published;  // nullopt: nothing ever was
  std::uint64_t head = 0;                   // of the journal
  std::uint64_t read = 0;                   // events in the topics
  std::uint64_t expected = 0;   // public events up to the published position
  std::uint64_t aged_out = 0;   // of these, before what the topics still keep
  std::uint64_t parked = 0;     // of these, too large for Kafka
  std::uint64_t abandoned = 0;  // published before the journal was restored
  std::uint64_t faults = 0;
  std::vector<finding> findings;  // the first hundred
};

/// Compares the topics with the journal: every public event up to the
/// published position once, as the journal has it, in order for each key. The
/// publisher may be at work meanwhile. INVALID_STATE when the control record
/// is of another journal (match_control).
[[nodiscard]] result<verify_report> verify_published(
    const verify_options& options, journal& store, const keep_going& go_on);

}  // namespace bc::events::kafka
