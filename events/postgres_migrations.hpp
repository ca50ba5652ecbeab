#pragma once

#include "events/postgres.hpp"
#include "events/postgres_journal.hpp"

namespace bc::events::detail {

/// The schema of this program.
[[nodiscard]] int latest_postgres_schema();

/// Brings the store to it (events/postgres_journal.hpp: migrate_postgres).
[[nodiscard]] result<migration> migrate(postgres::connection& db);

/// INVALID_STATE for a store of another schema or of none, INTERNAL when its
/// tables are not those of the schema or the head row does not fit them.
[[nodiscard]] result<void> check_store(postgres::connection& db);

}  // namespace bc::events::detail
