#pragma once

#include "base/result.hpp"
#include "events/journal.hpp"

namespace bc::store {

struct append_end {
  result<events::appended> done;
  /// False: the store did not even say whether the batch is in the journal.
  bool known = true;
};

/// Appends one batch. A fault can leave the outcome open: the store is asked
/// then, so that what was written is not told as failed. `refused` is the fault
/// of a batch whose preconditions do not hold.
[[nodiscard]] append_end append_known(events::journal& journal,
                                      const events::batch& b, fault refused);

}  // namespace bc::store
