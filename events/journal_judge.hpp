#pragma once

#include "base/fault_point.hpp"
#include "events/journal_ledger.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace bc::events::detail {

struct group_outcome {
  std::vector<append_outcome> outcomes;
  bool wrote = false;  // else there is nothing to commit
};

/// Judges the batches in order and writes the survivors as one commit. `now`
/// is the store's clock, read after the lock. After a fault the caller rolls
/// the transaction back.
[[nodiscard]] result<group_outcome> append_group(ledger& tables,
                                                 std::span<const batch> group,
                                                 time_point now);

/// UNAVAILABLE when a test has armed the point.
[[nodiscard]] result<void> pass(fault_point point);

/// The batch's events as they stand in the journal, else nullopt.
[[nodiscard]] result<std::optional<appended>> stored_batch(ledger& tables,
                                                           std::string_view id,
                                                           time_point now);

/// The lease after `holder` asked for it; nullopt while another's is
/// unexpired. The epoch grows with each change of hands.
[[nodiscard]] std::optional<lease> next_lease(
    const std::optional<lease>& current, std::string_view holder, seconds ttl,
    time_point now);

/// INVALID_STATE unless the lease has this epoch and is unexpired.
[[nodiscard]] result<void> check_epoch(const std::optional<lease>& current,
                                       std::uint64_t epoch, time_point now);

}  // namespace bc::events::detail
