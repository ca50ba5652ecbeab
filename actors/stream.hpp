#pragma once

#include "actors/actors.hpp"

#include <caf/typed_actor.hpp>

#include <vector>

namespace bc::actors {

struct stream_options {
  writer_actor writer;
  reader_actor reader;
  const clock* time = nullptr;  // outlives the actor
  std::size_t page = 1000;      // events read at once
};

/// The actor of one stream; loads when first asked. `stream` is of a kind that
/// make_fold() knows.
[[nodiscard]] stream_actor spawn_stream(caf::actor_system& system,
                                        events::stream_id stream,
                                        stream_options options);

}  // namespace bc::actors
