#pragma once

#include "actors/actor_ledger.hpp"

#include <functional>
#include <memory>

namespace bc::actors {

/// Tells of MACs that several nodes have (CASES 54): `node.hardware-shared` on
/// the stream of the node that had them later and, when the other node is of
/// another tenant, one on that node's too, which names nobody. Each MAC of a
/// node is told of once, whatever processes do this at a time. What is to be
/// told comes from the read models, which nothing is decided by; the batch pins
/// both nodes and the claims of what was told. `done` runs once, after what
/// could be told is in the journal; the rest is for the next time.
void tell_shared_hardware(std::shared_ptr<ledger> streams,
                          std::function<void()> done);

struct hardware_watch_options {
  ledger_actors others;
  milliseconds every{5'000};
};

/// The actor that does so again and again, for as long as it lives, and closes
/// the join requests of machines that joined by another way
/// (requests/superseding.hpp).
[[nodiscard]] hardware_watch_actor spawn_hardware_watch(
    caf::actor_system& system, hardware_watch_options options);

}  // namespace bc::actors
