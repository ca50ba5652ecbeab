#pragma once

#include "base/clock.hpp"
#include "events/journal.hpp"
#include "events/sqlite_journal.hpp"

#include <cstdint>
#include <memory>
#include <string>

/// The read models: tables built from the journal, for lists and gets alone.
namespace bc::projections {

/// Applies every event to the tables of tables.hpp inside the append
/// transaction, on SQLite. When the store is opened it makes them, rebuilds
/// them where one is missing, ahead of the journal or of another version
/// (checkpoint.hpp), and catches up where they are behind. On Postgres a tailer
/// does it (tailer.hpp).
[[nodiscard]] std::unique_ptr<events::inline_projector> make_projector();

/// Fills shadow tables from the journal's first event on and swaps them in;
/// answers the position reached. The rows are those the events make, and the
/// streams that are parked are those that cannot be applied now. On Postgres
/// readers, writers and the tailer go on meanwhile (`db`: a connection of its
/// own, postgres::patience::endless); INVALID_STATE while another rebuild
/// runs, UNAVAILABLE when the server ended the swap because this program stood
/// still in it for `most_idle`: then the rows are as they were. On SQLite
/// nobody else may write.
[[nodiscard]] result<std::uint64_t> rebuild(
    sql::connection& db, events::journal& source,
    milliseconds most_idle = milliseconds{10'000});

/// Rebuilds read models that an older program wrote, and those of a store that
/// was `migrated` just now and holds events, on Postgres. The version tells it
/// again where a migration was cut off.
[[nodiscard]] result<void> renew(sql::connection& db, events::journal& source,
                                 bool migrated);

/// SHA-256 over the checkpoint and all rows of all read models in key order,
/// hex; the same on every database.
[[nodiscard]] result<std::string> checksum(sql::connection& db);

}  // namespace bc::projections
