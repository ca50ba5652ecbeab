#pragma once

#include "actors/ledger.hpp"
#include "events/admission.hpp"

#include <memory>

namespace bc::actors {

/// The states that a join is judged by (events::admission), as they were read.
struct judged_by {
  std::shared_ptr<const events::grant> granted;
  shared_state<events::pool::state> pool;  // version 0 without one
  shared_state<events::site::state> site;
  shared_state<events::tenant::state> tenant;
  shared_state<events::node::state> known;  // the machine's, or null
  shared_state<events::node::state> named;  // the grant's, or null
  shared_state<events::node::state> other;  // has the hardware beside, or null
};

/// Reads them in turn. CONFLICT when the node that held the EK or the hardware
/// gave it up meanwhile: to be read again.
void read_judged_by(std::shared_ptr<ledger> streams,
                    std::shared_ptr<const events::grant> granted,
                    const pki::hardware_key& hardware,
                    reply_to<judged_by> done);

}  // namespace bc::actors
