#pragma once

#include "actors/ledger.hpp"

#include <functional>
#include <memory>

namespace bc::actors {

/// Closes join requests whose machine became a node by another way, a token or
/// the word of another attestor, so that nobody approves what is not there any
/// more: `security.join-request.superseded`. The read models say where to look,
/// and which attempt the machine had made when it joined; that it is the same
/// machine is decided by the streams, which the batch pins. A machine that asks
/// once more, after it joined, opens another. `done` runs once, after what
/// could be closed is; the rest is for the next time. So many are asked for at
/// once.
void supersede_requests(std::shared_ptr<ledger> streams,
                        std::function<void()> done, int at_once = 256);

}  // namespace bc::actors
