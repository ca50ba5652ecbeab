#pragma once

#include "actors/actors.hpp"
#include "actors/stream.hpp"

namespace bc::actors {

struct registry_options {
  stream_options streams;
  std::vector<reader_actor> readers;  // given to the streams in turn
  std::size_t max_live = 100'000;     // streams in memory
};

/// The registry: finds, makes and lets go the streams' actors.
[[nodiscard]] registry_actor spawn_registry(caf::actor_system& system,
                                            registry_options options);

}  // namespace bc::actors
