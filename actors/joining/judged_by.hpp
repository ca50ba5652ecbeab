#pragma once

#include "actors/ledger.hpp"
#include "events/admission.hpp"

#include <memory>

namespace bc::actors {

/// The states that a join is judged by (events::admission), as they were read.
struct judged_by {
  shared_state<events::join_token::state> token;
  shared_state<events::pool::state> pool;  // version 0 without one
  shared_state<events::site::state> site;
  shared_state<events::tenant::state> tenant;
  shared_state<events::node::state> known;  // holds the hardware, or null
  shared_state<events::node::state> named;  // the token's, or null
};

/// Reads them in turn, for a token that exists. CONFLICT when the node that
/// held the hardware gave it up meanwhile: to be read again.
void read_judged_by(std::shared_ptr<ledger> streams,
                    shared_state<events::join_token::state> token,
                    const pki::hardware_key& hardware,
                    reply_to<judged_by> done);

}  // namespace bc::actors
