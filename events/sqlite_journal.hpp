#pragma once

#include "events/journal.hpp"
#include "events/sqlite.hpp"

#include <memory>
#include <string>

namespace bc::events {

/// Runs inside the append transaction, behind a savepoint of the store's, once
/// for each event: what it writes commits with the event. A fault rolls its
/// own writes back and parks the stream (the store records it in
/// `parked_streams` and calls no more for that stream); the append goes on.
class inline_projector {
 public:
  virtual ~inline_projector() = default;
  /// When the store is opened, before anything is appended: makes the tables,
  /// and brings them to where the journal is.
  [[nodiscard]] virtual result<void> prepare(sql::connection& db,
                                             journal& source) = 0;
  [[nodiscard]] virtual result<void> apply(sql::connection& db,
                                           const envelope& event) = 0;
  /// Once for each group, after its last event: all up to here is applied, or
  /// parked.
  [[nodiscard]] virtual result<void> finish(sql::connection& db,
                                            std::uint64_t position) = 0;
};

/// Opens or makes the store at `path` (WAL, synchronous=FULL), migrates it,
/// and takes the exclusive lock ("<path>.lock"), with which the lease of
/// whoever had the store before ends: INVALID_STATE naming the holder (pid)
/// when another process has it; INVALID_STATE for a store of a newer schema;
/// INTERNAL with what is wrong for a damaged one. The projector (may be null)
/// and the clock must outlive the journal.
[[nodiscard]] result<std::unique_ptr<journal>> open_sqlite_journal(
    const std::string& path, const clock& time, inline_projector* projector);

/// The same for a store that must be of this program's schema already:
/// INVALID_STATE when it was never made or is of another schema.
[[nodiscard]] result<std::unique_ptr<journal>> open_made_sqlite_journal(
    const std::string& path, const clock& time, inline_projector* projector);

/// For reading alone: takes no lock, so that a server may have the store
/// meanwhile (the tables of one moment are read); every call that would write,
/// and outcome(), whose answer only a writer can rely on, is INVALID_STATE. The
/// store must be as for open_made_sqlite_journal.
[[nodiscard]] result<std::unique_ptr<journal>> open_sqlite_reader(
    const std::string& path, const clock& time);

/// Makes the store or brings it to this program's schema; answers its number.
[[nodiscard]] result<int> migrate_sqlite(const std::string& path,
                                         const clock& time,
                                         inline_projector* projector);

}  // namespace bc::events
