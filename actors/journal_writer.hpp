#pragma once

#include "actors/actors.hpp"

#include <functional>

namespace bc::actors {

/// A detached actor blocks its own thread; a shared one a scheduler's, for
/// tests.
enum class threading { detached, shared };

struct writer_options {
  events::journal* journal = nullptr;  // outlives the actor
  std::function<void(const events::envelope&)> on_event;
  std::size_t max_group = 512;
  /// How often, and how far apart, an unknown outcome is looked up.
  int lookup_tries = 3;
  milliseconds lookup_pause{350};
  threading thread = threading::detached;
};

/// The journal writer: everything that waits when a commit ends is the next
/// group. Commits are published (on_event, then the registry) before the
/// replies to their batches.
[[nodiscard]] writer_actor spawn_journal_writer(caf::actor_system& system,
                                                writer_options options);

}  // namespace bc::actors
