#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <span>
#include <vector>

namespace bc::actors {

struct commit_options {
  /// How often, and how far apart, an unknown outcome is looked up; all
  /// batches of a group share the tries.
  int lookup_tries = 3;
  milliseconds lookup_pause{350};
  /// No further try begins so long after the first: a store that takes its time
  /// to say that it is away is not asked again and again.
  milliseconds lookup_longest{2'000};
};

/// How a group came out.
struct committed_group {
  std::vector<result<events::append_outcome>> outcomes;  // one for each batch
  bool store_is_away = false;
  bool is_unsure = false;  // some of it may be in the journal, unknown to us
};

/// Appends the group; blocks. An outcome that got lost is looked up. A group
/// that the store cannot take (INTERNAL: a text it cannot hold) is appended in
/// halves, so that the batch at fault fails alone.
[[nodiscard]] committed_group commit_group(events::journal& journal,
                                           std::span<const events::batch> group,
                                           const commit_options& options);

}  // namespace bc::actors
