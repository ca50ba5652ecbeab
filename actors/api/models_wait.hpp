#pragma once

#include "actors/api/read_models.hpp"
#include "actors/ledger.hpp"

#include <cstdint>
#include <memory>

namespace bc::actors {

/// Goes on with the position the read models show once it is `wanted` or more,
/// or after 2 s with a lesser one. Nothing blocks meanwhile. A fault is of the
/// read models.
void wait_for_models(std::shared_ptr<read_models> models,
                     std::shared_ptr<ledger> streams, std::uint64_t wanted,
                     reply_to<std::uint64_t> done);

}  // namespace bc::actors
