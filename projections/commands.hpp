#pragma once

#include "base/result.hpp"
#include "events/command.hpp"
#include "events/journal.hpp"
#include "events/sql.hpp"
#include "projections/tables.hpp"

namespace bc::projections {

/// The row of a command. INTERNAL for an outcome of one that is not there, or
/// has one.
[[nodiscard]] result<void> write_command(sql::connection& db,
                                         const statements& sql,
                                         const events::envelope& event,
                                         const events::command::event& e);

}  // namespace bc::projections
