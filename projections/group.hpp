#pragma once

#include "events/journal.hpp"
#include "events/sql.hpp"
#include "projections/checkpoint.hpp"
#include "projections/tables.hpp"

#include <cstddef>
#include <span>

namespace bc::projections {

/// Events that are applied in one transaction, at most.
inline constexpr std::size_t group_limit = 1000;

/// Pipelined: in few round trips, and a server whose client stops amid them
/// waits for the rest, with its locks held, for ever. Awaited: each statement's
/// answer comes before the next is sent.
enum class sending { pipelined, awaited };

/// Applies events in the transaction that is open, leaving out the streams
/// that are parked. An event that cannot be applied changes nothing and parks
/// its stream, and the others go on; the streams it parked are the answer. A
/// fault is the database's: then the transaction is to be rolled back.
[[nodiscard]] result<parked_streams> apply_group(
    sql::connection& db, const statements& sql,
    std::span<const events::envelope> group, const parked_streams& parked,
    sending how = sending::pipelined);

/// A fault when a table is missing, is of another shape, or may not be
/// written: then nothing is the events' fault.
[[nodiscard]] result<void> check_tables(sql::connection& db,
                                        const statements& sql);

}  // namespace bc::projections
