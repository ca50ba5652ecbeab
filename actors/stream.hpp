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
  /// Other processes append too: a stream without events is read before every
  /// answer, since they may have made it a moment ago.
  bool shared = false;
  std::size_t snapshot_every = 128;  // events
};

/// The actor of one stream; loads when first asked, from the newest snapshot
/// when there is one. `stream` is of a kind that
/// make_fold() knows.
[[nodiscard]] stream_actor spawn_stream(caf::actor_system& system,
                                        events::stream_id stream,
                                        stream_options options);

}  // namespace bc::actors
