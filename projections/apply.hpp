#pragma once

#include "base/result.hpp"
#include "events/journal.hpp"
#include "events/sqlite.hpp"
#include "projections/tables.hpp"

namespace bc::projections {

/// Writes what one event changes, and the checkpoint. INTERNAL for an event
/// that is unknown, cannot be read, or does not fit the rows that are there;
/// the caller rolls back what was written by then.
[[nodiscard]] result<void> apply(sqlite::connection& db, const statements& sql,
                                 const events::envelope& event);

}  // namespace bc::projections
