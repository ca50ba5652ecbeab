#pragma once

#include "actors/actors.hpp"
#include "actors/stream.hpp"

namespace bc::actors {

struct registry_options {
  stream_options streams;
  std::vector<reader_actor> readers;  // given to the streams in turn
  std::size_t max_live = 100'000;     // streams in memory
  seconds passivate_after{60};        // since its last use
  /// Other processes append too: what is known is of use for this long after
  /// the writer last told everything; then each stream is read on first.
  bool shared = false;
  milliseconds max_staleness{1000};
  /// A node that another process took in and did not adopt in this time is
  /// adopted by this one.
  seconds adopt_after{10};
};

/// The registry: finds, makes and lets go the streams' actors.
[[nodiscard]] registry_actor spawn_registry(caf::actor_system& system,
                                            registry_options options);

}  // namespace bc::actors
