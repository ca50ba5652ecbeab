#pragma once

#include "events/journal.hpp"
#include "events/kafka/properties.hpp"
#include "events/kafka/topics.hpp"

#include <cstdint>
#include <string>

/// What an operator does by hand.
namespace bc::events::kafka {

struct backfill_options {
  properties client;
  topic_names topics;  // the deployment's own, which are refused
  std::string source;
  std::string topic;  // new, or empty
  std::uint64_t from = 1;
  std::uint64_t to = 0;  // 0: the journal's head
};

/// Publishes the public events of these positions, with the ids they always
/// had, to a topic of their own; answers how many. ALREADY_EXISTS for a topic
/// that has, or ever had, something in it; INVALID_INPUT for positions the
/// journal does not have. What a failed run left is incomplete: take another
/// topic.
[[nodiscard]] result<std::uint64_t> backfill(const backfill_options& options,
                                             journal& store,
                                             const keep_going& go_on);

}  // namespace bc::events::kafka
