#pragma once

#include "actors/actors.hpp"
#include "actors/journal_writer.hpp"

namespace bc::actors {

struct reader_options {
  events::journal* journal = nullptr;       // outlives the actor
  projections::queries* queries = nullptr;  // outlives the actor; may be null
  threading thread = threading::detached;
};

/// A journal reader: every read that may block.
[[nodiscard]] reader_actor spawn_journal_reader(caf::actor_system& system,
                                                reader_options options);

}  // namespace bc::actors
