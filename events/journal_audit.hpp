#pragma once

#include "events/journal_ledger.hpp"

namespace bc::events::detail {

/// journal::verify() over one moment of a store's tables.
[[nodiscard]] result<void> audit(ledger& tables, const effect_function& effects,
                                 time_point now);

}  // namespace bc::events::detail
