#pragma once

#include <string_view>

/// A row of `events`, in the order in which every store reads it.
#define BC_EVENT_COLUMNS                                               \
  "position, commit_no, stream, version, type, type_version, tenant, " \
  "time_ms, actor, correlation, data, internal, hash, batch"

namespace bc::events::detail {

/// One statement for each of the journal's tables, naming the columns that the
/// stores use: what cannot be prepared shows a store that is not ours.
inline constexpr std::string_view journal_shapes[] = {
    "select " BC_EVENT_COLUMNS " from events limit 0",
    "select commit_no, last_position, link from commits limit 0",
    "select batch, commit_no, first_position, last_position from batches "
    "limit 0",
    "select position, commit_no, link, incarnation, time_ms from head limit 0",
    "select claim, stream, position, expires_ms from claims limit 0",
    "select budget, amount_left, closed from budgets limit 0",
    "select stream, version, dropped from limiters limit 0",
    "select stream, version, fold_version, state from snapshots limit 0",
    "select holder, epoch, expires_ms from lease limit 0",
    "select stream, position, reason from parked_streams limit 0",
    "select position, commit_no, link, incarnation, time_ms, signature from "
    "checkpoints limit 0",
    "select owner, csr_sha256, reason, token, attestor, role, first_ms, "
    "last_ms, times, details, batch from refused_joins limit 0",
};

}  // namespace bc::events::detail
