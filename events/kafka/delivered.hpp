#pragma once

#include "events/incarnations.hpp"
#include "events/kafka/cluster.hpp"
#include "events/kafka/topics.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>

/// What subscribers were given, by the topics alone.
namespace bc::events::kafka {

/// "inc_…-42".
struct event_id {
  std::string incarnation;
  std::uint64_t position = 0;
};
/// nullopt for a text that is none.
[[nodiscard]] std::optional<event_id> parse_event_id(const std::string& text);

/// The event's id in the note of the parked topic that stands for one; nullopt
/// for a text that is none.
[[nodiscard]] std::optional<event_id> parse_parked(const std::string& text);

/// Which way this event of the journal was altered on its way: "value",
/// "header ce_type"…; empty: in none. Where it lies is not looked at.
[[nodiscard]] std::string difference(const record& wanted, const received& m);

/// Positions of the journal whose events were too large for Kafka, by the notes
/// in the parked topic.
[[nodiscard]] result<std::set<std::uint64_t>> parked_positions(
    cluster& from, const topic_names& topics, const incarnations& known,
    const keep_going& go_on);

/// How far the topics hold a journal's ids.
struct delivery {
  std::uint64_t until = 0;
  /// An older copy of the journal was restored, and wrote on under ids that
  /// subscribers have for other events before it began another incarnation;
  /// `until` is where it did.
  bool has_others = false;
};

/// By the last of this journal's ids that the topics hold, of positions up to
/// `limit`; nullopt: they hold none. Reads each partition from its end back to
/// one of them. INVALID_STATE, naming it, when the journal has another event
/// under its id, or none, and no other incarnation since: then it is another
/// journal, or an older copy that may write on under the same ids.
[[nodiscard]] result<std::optional<delivery>> last_delivered(
    cluster& from, const topic_names& topics, const std::string& source,
    journal& store, const incarnations& known, std::uint64_t limit,
    const keep_going& go_on);

}  // namespace bc::events::kafka
