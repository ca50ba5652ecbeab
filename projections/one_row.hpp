#pragma once

#include "base/result.hpp"
#include "events/journal.hpp"
#include "events/sql.hpp"

#include <string>

namespace bc::projections {

/// Runs an update that must change one row. INTERNAL when it finds none: the
/// tables and the journal have parted (in a pipeline its flush says so).
[[nodiscard]] inline result<void> change_one_row(
    sql::connection& db, sql::statement& s, const events::envelope& event) {
  BC_TRYV(s.run());
  auto fits = db.expect_changes(1);
  if (!fits)
    return fail(errc::internal,
                "event " + std::to_string(event.position) + " (" + event.type +
                    ") finds no row to change",
                {}, fits.error().message);
  return ok();
}

}  // namespace bc::projections
