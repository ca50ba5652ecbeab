#pragma once

#include "events/journal.hpp"
#include "events/postgres.hpp"

#include <memory>
#include <string>

namespace bc::events {

/// What a server may say nothing for before its connection is given up.
struct postgres_silence {
  milliseconds writing = postgres::usual_silence;  // and what waits for locks
  milliseconds reading{4'000};
};

/// The journal in Postgres 15 or newer at a URL that libpq understands
/// (postgres://user@host:port/name?sslmode=…), shared by any number of
/// processes. At most eight connections (appends, lookups, four for reading,
/// two for what else is kept) are opened as needed, and anew after a loss; the
/// first must succeed. A lost one is found out by its next call, which tries
/// once more on another, unless it may have committed: then the outcome is
/// unknown. INVALID_STATE for a store that is not migrated or of a newer schema
/// (migrate_postgres makes it).
///
/// A group is one transaction of two round trips: the head row is locked and
/// everything the group's judging needs is read (one VOLATILE function), then
/// the survivors are written set-based and committed. A group that writes
/// nothing commits its lock alone when others wrote since: what it confirms is
/// on the synchronous standby then.
[[nodiscard]] result<std::unique_ptr<journal>> open_postgres_journal(
    const std::string& url, postgres_silence silence = {});

struct migration {
  int version = 0;    // of the schema
  bool rose = false;  // it was another before
};

/// Brings the store to this program's schema, each migration in a transaction
/// of its own, under a lock, so that two may run at once. INVALID_STATE for a
/// store of a newer schema, INTERNAL for tables that are not ours.
[[nodiscard]] result<migration> migrate_postgres(const std::string& url);

}  // namespace bc::events
