#include "events/journal_audit.hpp"

#include "events/checkpoint_check.hpp"
#include "events/journal_folds.hpp"
#include "events/stream_fold.hpp"

#include <set>
#include <unordered_map>
#include <utility>

namespace bc::events::detail {

namespace {

constexpr std::size_t page = 1000;

class auditor {
 public:
  auditor(ledger& tables, const verify_request& against, head_state head,
          time_point now)
      : tables_(tables),
        against_(against),
        head_(std::move(head)),
        now_(now),
        chain_({},
               [this](const chain_point& end, std::uint64_t first) {
                 return close_commit(end, first);
               }),
        checkpoints_(against) {}

  result<void> run();

 private:
  result<void> rows();
  result<void> row(const envelope& e);
  result<void> close_commit(const chain_point& end, std::uint64_t first);
  result<std::optional<commit_row>> stored_commit(std::uint64_t commit);
  result<void> read_batches(const std::vector<envelope>& events);
  result<void> close_batch();
  result<void> ends();
  result<void> fold(const envelope& e);
  result<void> stored_checkpoints(const chain_point& end);
  result<void> next_checkpoints();
  result<void> compare_snapshot(const std::string& stream, const snapshot& s);

  ledger& tables_;
  const verify_request& against_;
  head_state head_;
  time_point now_;

  row_chain chain_;
  checkpoint_check checkpoints_;
  std::vector<checkpoint> stored_;   // a page of the store's own
  std::size_t next_ = 0;             // of stored_
  std::uint64_t read_to_ = 0;        // position of the last one read
  std::vector<commit_row> commits_;  // a page of the store's
  std::size_t next_commit_ = 0;      // of commits_
  batch_row batch_;                  // the open batch
  // The store's rows of the batches that the page of events names.
  std::unordered_map<std::string, batch_row> known_batches_;
  std::uint64_t batches_ = 0;
  std::unordered_map<stream_id, std::uint64_t> versions_;
  claim_and_budget_folds folds_;
};

result<void> auditor::run() {
  BC_TRYV(checkpoints_.begin());
  BC_TRYV(next_checkpoints());
  BC_TRYV(rows());
  BC_TRYV(close_batch());
  BC_TRYV(chain_.finish());
  BC_TRYV(ends());
  BC_TRYV(tables_.check_hidden());
  if (against_.effects) {
    BC_TRYV(folds_.compare(tables_, now_));
  }
  if (!against_.folds)
    return ok();
  BC_TRY(snapshots, tables_.all_snapshots());
  for (const auto& [stream, stored] : snapshots) {
    BC_TRYV(compare_snapshot(stream, stored));
  }
  return ok();
}

result<void> auditor::rows() {
  for (;;) {
    BC_TRY(events, tables_.events_after(chain_.position(), page));
    BC_TRYV(read_batches(events));
    for (const auto& e : events) {
      BC_TRYV(row(e));
    }
    if (events.size() < page)
      break;
  }
  if (chain_.position() < head_.row.position)
    return bad_row(chain_.position() + 1, "is missing");
  return ok();
}

result<void> auditor::row(const envelope& e) {
  BC_TRYV(chain_.add(e, row_hash(e)));
  if (e.batch != batch_.batch || e.commit != batch_.commit) {
    BC_TRYV(close_batch());
  }
  if (e.position > head_.row.position)
    return bad_row(e.position, "was inserted after the head");
  auto& version = versions_[e.stream];
  if (e.version != version + 1)
    return bad_row(e.position, "is out of order in stream " + e.stream);
  version = e.version;
  if (batch_.batch.empty())
    batch_ = {e.batch, e.commit, e.position, e.position};
  batch_.last = e.position;
  BC_TRYV(checkpoints_.add_event(e));
  return against_.effects ? fold(e) : ok();
}

result<void> auditor::close_commit(const chain_point& end,
                                   std::uint64_t first) {
  auto name = "commit " + std::to_string(end.commit) + " (rows " +
              std::to_string(first) + " to " + std::to_string(end.position) +
              ")";
  BC_TRY(stored, stored_commit(end.commit));
  if (!stored)
    return does_not_verify(name + " is missing from the commits");
  if (stored->last != end.position)
    return does_not_verify(name + " should end at row " +
                           std::to_string(stored->last));
  if (stored->link != end.link)
    return does_not_verify(name +
                           " is altered: its link does not match its rows");
  BC_TRYV(checkpoints_.at_commit(end));
  return stored_checkpoints(end);
}

// The chain comes by each commit, in order.
result<std::optional<commit_row>> auditor::stored_commit(std::uint64_t commit) {
  if (next_commit_ == commits_.size()) {
    BC_TRY(more, tables_.commits_after(commit - 1, page));
    commits_ = std::move(more);
    next_commit_ = 0;
  }
  if (next_commit_ == commits_.size() ||
      commits_[next_commit_].commit != commit)
    return std::nullopt;
  return std::move(commits_[next_commit_++]);
}

result<void> auditor::stored_checkpoints(const chain_point& end) {
  while (next_ < stored_.size() && stored_[next_].position <= end.position) {
    BC_TRYV(checkpoints_.stored(stored_[next_], end));
    if (++next_ == stored_.size()) {
      BC_TRYV(next_checkpoints());
    }
  }
  return ok();
}

result<void> auditor::next_checkpoints() {
  auto read = tables_.checkpoints_after(read_to_, page);
  if (!read) {
    auto why = std::move(read).error();
    if (why.code == errc::invalid_input)
      return does_not_verify("a checkpoint after row " +
                             std::to_string(read_to_) +
                             " cannot be read: " + why.message);
    return why;
  }
  stored_ = std::move(read).value();
  next_ = 0;
  if (!stored_.empty())
    read_to_ = stored_.back().position;
  return ok();
}

// Of the page before, that of the batch which is still open is kept.
result<void> auditor::read_batches(const std::vector<envelope>& events) {
  std::set<std::string> named;
  for (const auto& e : events)
    named.insert(e.batch);
  BC_TRY(found, tables_.find_batches(named));
  for (auto& row : found) {
    auto name = row.batch;
    known_batches_.insert_or_assign(std::move(name), std::move(row));
  }
  return ok();
}

result<void> auditor::close_batch() {
  if (batch_.batch.empty())
    return ok();
  auto stored = known_batches_.extract(batch_.batch);
  if (stored.empty() || stored.mapped() != batch_)
    return bad_row(batch_.first, "does not match its batch " + batch_.batch);
  ++batches_;
  batch_ = {};
  return ok();
}

result<void> auditor::ends() {
  const auto& end = chain_.end();
  if (end.commit != head_.row.commit || end.link != head_.row.link ||
      chain_.time() != head_.time)
    return does_not_verify("the head row is altered");
  if (next_ < stored_.size())
    return checkpoint_check::beyond(stored_[next_], end.position, false);
  BC_TRYV(checkpoints_.finish(end, head_.row.incarnation));
  BC_TRY(commits, tables_.commit_count());
  if (commits != end.commit)
    return does_not_verify("there are " + std::to_string(commits) +
                           " commits, not " + std::to_string(end.commit));
  BC_TRY(batches, tables_.batch_count());
  if (batches != batches_)
    return does_not_verify("there are " + std::to_string(batches) +
                           " batches, not " + std::to_string(batches_));
  return ok();
}

result<void> auditor::fold(const envelope& e) {
  auto effect = against_.effects(e);
  if (effect)
    return folds_.add(e, effect.value());
  auto why = std::move(effect).error();
  why.message =
      "row " + std::to_string(e.position) + " cannot be folded: " + why.message;
  return why;
}

// A snapshot of another fold version is no fault: it is never used.
result<void> auditor::compare_snapshot(const std::string& stream,
                                       const snapshot& s) {
  auto named = "the snapshot of " + stream + " at its version " +
               std::to_string(s.version);
  auto fold = against_.folds(stream);
  if (!fold)
    return does_not_verify(named + " is of no kind that has snapshots");
  std::uint64_t row = 0;
  while (fold->version() < s.version) {
    auto wanted = std::min<std::uint64_t>(page, s.version - fold->version());
    BC_TRY(events, tables_.stream_after(stream, fold->version(),
                                        static_cast<std::size_t>(wanted)));
    if (events.empty())
      return does_not_verify(named + " is beyond the stream's last event");
    for (const auto& e : events) {
      BC_TRYV(fold->apply(e));
      row = e.position;
    }
  }
  auto right = fold->to_snapshot();
  if (!right)
    return does_not_verify(named + " is of no kind that has snapshots");
  if (right->fold_version != s.fold_version)
    return ok();
  if (right->version != s.version || right->state != s.state)
    return does_not_verify(named + " is not what its events up to row " +
                           std::to_string(row) + " give");
  return ok();
}

}  // namespace

result<void> audit(ledger& tables, const verify_request& against,
                   time_point now) {
  auto head = tables.head();
  if (!head) {
    auto why = std::move(head).error();
    if (why.code == errc::invalid_input)
      return does_not_verify("the head row is altered: " + why.message);
    return why;
  }
  return auditor{tables, against, std::move(head).value(), now}.run();
}

}  // namespace bc::events::detail
