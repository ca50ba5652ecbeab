#pragma once

#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <cstdint>

namespace bc::store {

struct incarnation_change {
  incarnation_id previous;
  incarnation_id now;
  std::uint64_t position = 0;  // of the event
};

/// Gives the journal another incarnation, by an event of the stream `journal`,
/// so that ids and sequences are never used twice after a restore.
/// INVALID_STATE while a server holds the lease.
[[nodiscard]] result<incarnation_change> start_incarnation(
    events::journal& journal);

}  // namespace bc::store
