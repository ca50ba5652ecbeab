#pragma once

#include "events/journal.hpp"
#include "events/sqlite_journal.hpp"

#include <memory>
#include <string>

/// The read models: tables built from the journal, for lists and gets alone.
namespace bc::projections {

/// Applies every event to the tables tenants, sites, pools, join_tokens,
/// nodes, node_certs and the checkpoint row, inside the append transaction.
[[nodiscard]] std::unique_ptr<events::inline_projector> make_projector();

/// Fills shadow tables from the journal of a closed store and swaps them in;
/// answers the position reached. The rows are identical to the live ones.
[[nodiscard]] result<std::uint64_t> rebuild(sqlite::connection& db,
                                            events::journal& source);

/// SHA-256 over all rows of all read models in key order, hex.
[[nodiscard]] result<std::string> checksum(sqlite::connection& db);

}  // namespace bc::projections
