#pragma once

#include "base/result.hpp"
#include "events/sql.hpp"
#include "projections/apply.hpp"
#include "projections/tables.hpp"

/// Which permanent MACs several nodes have, of whatever tenants (CASES 54), and
/// which of it was told. It decides nothing: a warning comes of it
/// (actors/hardware_watch.hpp). Only SHA-256 of MACs are kept.
namespace bc::projections {

/// Writes what the event changes of it.
[[nodiscard]] result<void> write_shared_hardware(sql::connection& db,
                                                 const statements& sql,
                                                 const events::envelope& event,
                                                 const change& c);

}  // namespace bc::projections
