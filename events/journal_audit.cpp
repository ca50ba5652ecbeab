#include "events/journal_audit.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace bc::events::detail {

namespace {

constexpr std::size_t page = 1000;

fault bad(std::string what) {
  return fail(errc::internal, "the journal does not verify: " + what);
}

fault bad_row(std::uint64_t position, const std::string& what) {
  return bad("row " + std::to_string(position) + " " + what);
}

class auditor {
 public:
  auditor(ledger& tables, const effect_function& effects, head_state head,
          time_point now)
      : tables_(tables), effects_(effects), head_(std::move(head)), now_(now) {}

  result<void> run();

 private:
  result<void> row(const envelope& e);
  result<void> close_commit();
  result<void> close_batch();
  result<void> ends();
  result<void> fold(const envelope& e);
  result<void> fold_claim(const claim_move& m, const envelope& e);
  result<void> fold_budget(const budget_move& m, const envelope& e);
  result<void> compare_claims();
  result<void> compare_budgets();

  ledger& tables_;
  const effect_function& effects_;
  head_state head_;
  time_point now_;

  std::uint64_t position_ = 0;
  std::uint64_t commit_ = 0;
  std::string link_;
  std::vector<std::string> hashes_;  // of the open commit
  batch_row batch_;                  // the open batch
  std::uint64_t batches_ = 0;
  time_point time_{};
  std::unordered_map<stream_id, std::uint64_t> versions_;
  claim_table claims_;
  budget_table budgets_;
};

result<void> auditor::run() {
  for (;;) {
    BC_TRY(events, tables_.events_after(position_, page));
    for (const auto& e : events) {
      BC_TRYV(row(e));
    }
    if (events.size() < page)
      break;
  }
  if (position_ < head_.row.position)
    return bad_row(position_ + 1, "is missing");
  BC_TRYV(close_batch());
  BC_TRYV(close_commit());
  BC_TRYV(ends());
  if (!effects_)
    return ok();
  BC_TRYV(compare_claims());
  return compare_budgets();
}

result<void> auditor::row(const envelope& e) {
  if (e.position != position_ + 1)
    return bad_row(position_ + 1, "is missing");
  if (row_hash(e) != e.hash)
    return bad_row(e.position, "is altered");
  if (e.position > head_.row.position)
    return bad_row(e.position, "was inserted after the head");
  auto& version = versions_[e.stream];
  if (e.version != version + 1)
    return bad_row(e.position, "is out of order in stream " + e.stream);
  version = e.version;
  if (e.time < time_)
    return bad_row(e.position, "is earlier than the row before it");
  if (e.batch != batch_.batch || e.commit != commit_) {
    BC_TRYV(close_batch());
  }
  if (e.commit != commit_) {
    if (e.commit != commit_ + 1)
      return bad_row(e.position, "is of another commit than its place");
    BC_TRYV(close_commit());
    commit_ = e.commit;
  }
  if (batch_.batch.empty())
    batch_ = {e.batch, e.commit, e.position, e.position};
  batch_.last = e.position;
  position_ = e.position;
  time_ = e.time;
  hashes_.push_back(e.hash);
  return effects_ ? fold(e) : ok();
}

result<void> auditor::close_commit() {
  if (hashes_.empty())
    return ok();
  auto name = "commit " + std::to_string(commit_) + " (rows " +
              std::to_string(position_ - hashes_.size() + 1) + " to " +
              std::to_string(position_) + ")";
  BC_TRY(stored, tables_.find_commit(commit_));
  if (!stored)
    return bad(name + " is missing from the commits");
  if (stored->last != position_)
    return bad(name + " should end at row " + std::to_string(stored->last));
  link_ = commit_link(link_, hashes_);
  if (stored->link != link_)
    return bad(name + " is altered: its link does not match its rows");
  hashes_.clear();
  return ok();
}

result<void> auditor::close_batch() {
  if (batch_.batch.empty())
    return ok();
  BC_TRY(stored, tables_.find_batch(batch_.batch));
  if (!stored || *stored != batch_)
    return bad_row(batch_.first, "does not match its batch " + batch_.batch);
  ++batches_;
  batch_ = {};
  return ok();
}

result<void> auditor::ends() {
  if (commit_ != head_.row.commit || link_ != head_.row.link ||
      time_ != head_.time)
    return bad("the head row is altered");
  BC_TRY(commits, tables_.commit_count());
  if (commits != commit_)
    return bad("there are " + std::to_string(commits) + " commits, not " +
               std::to_string(commit_));
  BC_TRY(batches, tables_.batch_count());
  if (batches != batches_)
    return bad("there are " + std::to_string(batches) + " batches, not " +
               std::to_string(batches_));
  return ok();
}

result<void> auditor::fold(const envelope& e) {
  auto effect = effects_(e);
  if (!effect) {
    auto why = std::move(effect).error();
    why.message = "row " + std::to_string(e.position) +
                  " cannot be folded: " + why.message;
    return why;
  }
  for (const auto& move : effect.value().claims) {
    BC_TRYV(fold_claim(move, e));
  }
  for (const auto& move : effect.value().budgets) {
    BC_TRYV(fold_budget(move, e));
  }
  return ok();
}

result<void> auditor::fold_claim(const claim_move& m, const envelope& e) {
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

result<void> auditor::fold_budget(const budget_move& m, const envelope& e) {
  auto i = budgets_.find(m.budget);
  bool known = i != budgets_.end();
  switch (m.what) {
    case budget_move::kind::open:
      if (known)
        return bad_row(e.position, "opens budget " + m.budget + " again");
      budgets_[m.budget] = {m.amount, false};
      break;
    case budget_move::kind::spend:
      if (!known || i->second.closed || i->second.left < m.amount)
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

bool same(const claim_holder& a, const claim_holder& b) {
  return a.stream == b.stream && a.position == b.position &&
         a.expires_at == b.expires_at;
}

result<void> auditor::compare_claims() {
  BC_TRY(stored, tables_.all_claims());
  auto expired = [this](const auto& entry) {
    return is_free(entry.second, now_);
  };
  std::erase_if(stored, expired);
  std::erase_if(claims_, expired);
  for (const auto& [claim, holder] : claims_) {
    auto i = stored.find(claim);
    if (i == stored.end() || !same(i->second, holder))
      return bad("claim " + claim + " is not as row " +
                 std::to_string(holder.position) + " left it");
  }
  for (const auto& [claim, holder] : stored)
    if (!claims_.contains(claim))
      return bad("claim " + claim + " follows from no row");
  return ok();
}

result<void> auditor::compare_budgets() {
  BC_TRY(stored, tables_.all_budgets());
  for (const auto& [budget, row] : budgets_) {
    auto i = stored.find(budget);
    if (i == stored.end() || i->second != row)
      return bad("budget " + budget + " is not as its rows left it (" +
                 std::to_string(row.left) + " left)");
  }
  for (const auto& [budget, row] : stored)
    if (!budgets_.contains(budget))
      return bad("budget " + budget + " follows from no row");
  return ok();
}

}  // namespace

result<void> audit(ledger& tables, const effect_function& effects,
                   time_point now) {
  BC_TRY(head, tables.head());
  return auditor{tables, effects, std::move(head), now}.run();
}

}  // namespace bc::events::detail
