#pragma once

#include "events/journal_ledger.hpp"

#include <cstddef>

namespace bc::events::detail {

/// The claims and budgets that follow from the events, for a check: what no
/// judging could have let through is a fault naming the row.
class claim_and_budget_folds {
 public:
  [[nodiscard]] result<void> add(const envelope& e, const moves& effect);
  /// INTERNAL naming the first that is lost, extra or wrong in these tables;
  /// what is expired at `now` counts as absent.
  [[nodiscard]] result<void> compare(ledger& tables, time_point now);

 private:
  [[nodiscard]] result<void> add(const envelope& e, const claim_move& m);
  [[nodiscard]] result<void> add(const envelope& e, const budget_move& m);
  void forget_expired(time_point now);
  [[nodiscard]] result<void> compare_claims(ledger& tables, time_point now);
  [[nodiscard]] result<void> compare_budgets(ledger& tables) const;

  claim_table claims_;
  budget_table budgets_;
  std::size_t sweep_at_ = 4096;
};

}  // namespace bc::events::detail
