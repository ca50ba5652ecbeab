#pragma once

#include "actors/actors.hpp"
#include "actors/group_commit.hpp"
#include "actors/measures.hpp"

#include <functional>
#include <memory>

namespace bc::actors {

/// A detached actor blocks its own thread; a shared one a scheduler's, for
/// tests.
enum class threading { detached, shared };

struct writer_options {
  events::journal* journal = nullptr;  // outlives the actor
  std::function<void(const events::envelope&)> on_event;
  /// On a shared store: all that was in it at `as_of` has been published.
  std::function<void(instant as_of)> on_tailed = {};
  std::size_t max_group = 512;
  commit_options commit;
  /// How often a shared store is asked for what other processes wrote.
  milliseconds poll_every{200};
  /// While the store is away, what waited this long is not tried any more.
  milliseconds longest_wait{2000};
  threading thread = threading::detached;
  std::shared_ptr<measures> measured = {};  // null: nothing is counted
};

/// The journal writer: everything that waits when a commit ends is the next
/// group. Commits are published (on_event, then the registry) before the
/// replies to their batches. On a store of several processes it also tails:
/// what others wrote is published within `poll_every`, and before a rejection
/// is answered, so that a retry decides on fresh state.
[[nodiscard]] writer_actor spawn_journal_writer(caf::actor_system& system,
                                                writer_options options);

}  // namespace bc::actors
