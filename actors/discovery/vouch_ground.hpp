#pragma once

#include "actors/ledger.hpp"
#include "base/ids.hpp"
#include "events/boot_lease.hpp"
#include "events/directory.hpp"
#include "events/journal.hpp"
#include "events/node.hpp"
#include "events/vouching.hpp"

#include <memory>
#include <vector>

namespace bc::actors {

/// What a vouch is judged by (events::vouching::ground), as it was read.
struct vouch_ground {
  shared_state<events::site::state> site;
  shared_state<events::boot_lease::state> lease;
  shared_state<events::node::state> holder;    // or null
  shared_state<events::node::state> previous;  // or null

  [[nodiscard]] events::vouching::ground states() const {
    return {*site, *lease, holder.get(), previous.get()};
  }
};

/// Reads them in turn.
void read_vouch_ground(std::shared_ptr<ledger> streams, const site_id& of,
                       reply_to<vouch_ground> done);

/// Preconditions: all of it is as it was read, the site too.
[[nodiscard]] std::vector<events::stream_write> pins_of(
    const site_id& site, const vouch_ground& ground);

}  // namespace bc::actors
