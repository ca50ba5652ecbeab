#pragma once

#include "base/result.hpp"
#include "events/join_request.hpp"
#include "events/journal.hpp"
#include "events/sql.hpp"
#include "projections/tables.hpp"

namespace bc::projections {

/// Writes what the event changes, and marks some requests that have expired by
/// then. INTERNAL for an event that does not fit the rows that are there.
[[nodiscard]] result<void> write_join_request(
    sql::connection& db, const statements& sql, const events::envelope& event,
    const events::join_request::event& what);

}  // namespace bc::projections
