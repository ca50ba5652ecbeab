#pragma once

#include "actors/actors.hpp"

#include <caf/typed_actor.hpp>

namespace bc::actors {

struct refusal_index_options {
  reader_actor store;
  const clock* time = nullptr;  // outlives the actor
};

/// The actor of the index of recent refusals (journal::keep_refusals): it
/// takes every refusal, those that the limiter suppresses included, and writes
/// one batch a second. Nobody waits for it; what is over the bounds of
/// refusal_backlog is counted in the log. A flush is answered when all is
/// written.
[[nodiscard]] refusal_actor spawn_refusal_index(caf::actor_system& system,
                                                refusal_index_options options);

}  // namespace bc::actors
