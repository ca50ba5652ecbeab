#pragma once

#include "events/journal_ledger.hpp"

namespace bc::events::detail {

/// journal::verify() over one moment of a store's tables.
[[nodiscard]] result<void> audit(ledger& tables, const verify_request& against,
                                 time_point now);

}  // namespace bc::events::detail
