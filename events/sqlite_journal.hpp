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
  /// Makes the tables when they are missing.
  [[nodiscard]] virtual result<void> prepare(sqlite::connection& db) = 0;
  [[nodiscard]] virtual result<void> apply(sqlite::connection& db,
                                           const envelope& event) = 0;
};

/// Opens or makes the store at `path` (WAL, synchronous=FULL), migrates it,
/// and takes the exclusive lock ("<path>.lock"), with which the lease of
/// whoever had the store before ends: INVALID_STATE naming the holder (pid)
/// when another process has it; INVALID_STATE for a store of a newer schema;
/// INTERNAL with what is wrong for a damaged one. The projector (may be null)
/// and the clock must outlive the journal.
[[nodiscard]] result<std::unique_ptr<journal>> open_sqlite_journal(
    const std::string& path, const clock& time, inline_projector* projector);

}  // namespace bc::events
