#pragma once

#include "base/result.hpp"
#include "events/command.hpp"
#include "events/credential.hpp"
#include "events/directory.hpp"
#include "events/join_request.hpp"
#include "events/join_token.hpp"
#include "events/journal.hpp"
#include "events/node.hpp"
#include "events/sql.hpp"
#include "projections/tables.hpp"

#include <variant>

namespace bc::projections {

/// An event that this program can read; the first for one without a read
/// model.
using change =
    std::variant<std::monostate, events::tenant::event, events::site::event,
                 events::pool::event, events::credential::event,
                 events::join_token::event, events::join_request::event,
                 events::node::event, events::command::event>;

/// INTERNAL for an event that is unknown or cannot be read.
[[nodiscard]] result<change> read_change(const events::envelope& event);

/// Writes what the event changes; not the checkpoint. An event of a join token
/// or request also marks some that have expired by then, unless the caller
/// knows that there are none. INTERNAL for an event that does not fit the rows
/// that are there (in a pipeline its flush says so); the caller rolls back what
/// was written by then.
[[nodiscard]] result<void> write_change(sql::connection& db,
                                        const statements& sql,
                                        const events::envelope& event,
                                        const change& c,
                                        bool none_expired = false);

/// For so many events by which the token was redeemed, where no token expired
/// by then, what they change of its row; the rest is of write_beside_row.
/// INTERNAL (in a pipeline its flush says so) when it has not so many uses
/// left.
[[nodiscard]] result<void> spend_token(sql::connection& db,
                                       const statements& sql,
                                       const join_token_id& id,
                                       std::int64_t uses);

/// What the event changes beside the rows of its kind: who may see it, shared
/// hardware, the audit. A part of write_change.
[[nodiscard]] result<void> write_beside_row(sql::connection& db,
                                            const statements& sql,
                                            const events::envelope& event,
                                            const change& c);

}  // namespace bc::projections
