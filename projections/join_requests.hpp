#pragma once

#include "base/result.hpp"
#include "events/join_request.hpp"
#include "events/journal.hpp"
#include "events/node.hpp"
#include "events/sql.hpp"
#include "projections/tables.hpp"

namespace bc::projections {

/// Writes what the event changes, and marks some requests that have expired by
/// then. INTERNAL for an event that does not fit the rows that are there.
[[nodiscard]] result<void> write_join_request(
    sql::connection& db, const statements& sql, const events::envelope& event,
    const events::join_request::event& what);

/// Marks the open requests of a machine that became this node, of those that
/// events::is_same_machine knows: its TPM's, else its hardware's, else (where
/// that names no machine) its MACs'. What joins by its own request is consumed
/// before.
[[nodiscard]] result<void> mark_joined(sql::connection& db,
                                       const statements& sql,
                                       const events::node::joined& j);
/// Once the node is over, what the machine asked for may be wanted.
[[nodiscard]] result<void> unmark_joined(sql::connection& db,
                                         const statements& sql,
                                         const events::node::retired& r);

}  // namespace bc::projections
