#pragma once

#include "base/clock.hpp"
#include "events/sqlite.hpp"

#include <string>

namespace bc::events::detail {

/// Brings the store to this program's schema, one transaction for each
/// migration, and makes the head row (with a new incarnation) in a new store.
/// INVALID_STATE for a store of a newer schema.
[[nodiscard]] result<void> migrate(sqlite::connection& db, time_point now);

/// INVALID_STATE when there is no file: it was never made.
[[nodiscard]] result<void> require_file(const std::string& path);

/// INVALID_STATE unless the store is of this program's schema; its number.
[[nodiscard]] result<int> require_schema(sqlite::connection& db);

/// INTERNAL when the tables are not those of the schema, or the head row does
/// not fit them. A small file is read whole; a large one is not, so that
/// opening stays quick.
[[nodiscard]] result<void> check_store(sqlite::connection& db,
                                       const std::string& path);

}  // namespace bc::events::detail
