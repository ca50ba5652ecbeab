#pragma once

#include "actors/actors.hpp"

#include <caf/typed_actor.hpp>

namespace bc::actors {

struct refusal_options {
  writer_actor writer;
  const clock* time = nullptr;  // outlives the actor
};

/// The refusal actor: `security.join.refused` and `security.renew.refused`, at
/// most 60 in any 60 s for each tenant, attestor and reason; the rest is
/// counted, and the next event carries the count.
[[nodiscard]] refusal_actor spawn_refusals(caf::actor_system& system,
                                           refusal_options options);

}  // namespace bc::actors
