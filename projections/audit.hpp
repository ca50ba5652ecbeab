#pragma once

#include "base/result.hpp"
#include "events/journal.hpp"
#include "events/sql.hpp"
#include "projections/tables.hpp"

namespace bc::projections {

/// Adds the event's row to the audit, if it is a decision (events/audit.hpp).
[[nodiscard]] result<void> write_audit(sql::connection& db,
                                       const statements& sql,
                                       const events::envelope& event);

}  // namespace bc::projections
