#include "events/journal_folds.hpp"

#include "events/journal_chain.hpp"

#include <algorithm>

namespace bc::events::detail {

namespace {

bool same(const claim_holder& a, const claim_holder& b) {
  return a.stream == b.stream && a.position == b.position &&
         a.expires_at == b.expires_at;
}

}  // namespace

result<void> claim_and_budget_folds::add(const envelope& e,
                                         const moves& effect) {
  for (const auto& move : effect.claims) {
    BC_TRYV(add(e, move));
  }
  for (const auto& move : effect.budgets) {
    BC_TRYV(add(e, move));
  }
  // Claims that end (stored answers above all) must not pile up in a check of
  // a long journal. Times never fall, so what ended is free for ever.
  if (claims_.size() >= sweep_at_) {
    forget_expired(e.time);
    sweep_at_ = std::max<std::size_t>(4096, 2 * claims_.size());
  }
  return ok();
}

result<void> claim_and_budget_folds::add(const envelope& e,
                                         const claim_move& m) {
  auto i = claims_.find(m.claim);
  bool own = i != claims_.end() && i->second.stream == e.stream;
  if (m.what == claim_move::kind::release) {
    if (own)
      claims_.erase(i);
    return ok();
  }
  if (i != claims_.end() && !own && !is_free(i->second, e.time))
    return bad_row(e.position, "takes claim " + m.claim + ", which " +
                                   i->second.stream + " holds");
  claims_[m.claim] = {e.stream, e.position, m.expires_at};
  return ok();
}

result<void> claim_and_budget_folds::add(const envelope& e,
                                         const budget_move& m) {
  auto i = budgets_.find(m.budget);
  bool known = i != budgets_.end();
  switch (m.what) {
    case budget_move::kind::open:
      if (known)
        return bad_row(e.position, "opens budget " + m.budget + " again");
      budgets_[m.budget] = {m.amount, false};
      break;
    case budget_move::kind::spend:
      if (!known || i->second.closed || m.amount < 0 ||
          i->second.left < m.amount)
        return bad_row(e.position, "overspends budget " + m.budget);
      i->second.left -= m.amount;
      break;
    case budget_move::kind::close:
      if (known)
        i->second.closed = true;
      break;
  }
  return ok();
}

void claim_and_budget_folds::forget_expired(time_point now) {
  std::erase_if(claims_,
                [now](const auto& c) { return is_free(c.second, now); });
}

result<void> claim_and_budget_folds::compare(ledger& tables, time_point now) {
  BC_TRYV(compare_claims(tables, now));
  return compare_budgets(tables);
}

result<void> claim_and_budget_folds::compare_claims(ledger& tables,
                                                    time_point now) {
  BC_TRY(stored, tables.all_claims());
  std::erase_if(stored,
                [now](const auto& c) { return is_free(c.second, now); });
  forget_expired(now);
  for (const auto& [claim, holder] : claims_) {
    auto i = stored.find(claim);
    if (i == stored.end() || !same(i->second, holder))
      return does_not_verify("claim " + claim + " is not as row " +
                             std::to_string(holder.position) + " left it");
  }
  for (const auto& [claim, holder] : stored)
    if (!claims_.contains(claim))
      return does_not_verify("claim " + claim + " follows from no row");
  return ok();
}

result<void> claim_and_budget_folds::compare_budgets(ledger& tables) const {
  BC_TRY(stored, tables.all_budgets());
  for (const auto& [budget, row] : budgets_) {
    auto i = stored.find(budget);
    if (i == stored.end() || i->second != row)
      return does_not_verify("budget " + budget +
                             " is not as its rows left it (" +
                             std::to_string(row.left) + " left)");
  }
  for (const auto& [budget, row] : stored)
    if (!budgets_.contains(budget))
      return does_not_verify("budget " + budget + " follows from no row");
  return ok();
}

}  // namespace bc::events::detail
