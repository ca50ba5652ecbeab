#include "events/journal_judge.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace bc::events::detail {

namespace {

// How long a claim is kept after its end, so that a clock set back a little
// does not find it gone too early.
constexpr seconds purge_margin{3600};

/// What a batch that holds will do to the folds; null: the claim goes.
struct changes {
  std::map<std::string, std::optional<claim_holder>, std::less<>> claims;
  budget_table budgets;
};

using verdict = result<std::optional<rejected>>;

class group_writer {
 public:
  group_writer(ledger& tables, head_state head, time_point now)
      : tables_(tables),
        head_(std::move(head)),
        now_(now),
        event_time_(std::max(now, head_.time)) {}

  result<append_outcome> take(const batch& b);
  /// False when nobody survived.
  result<bool> finish();

 private:
  verdict judge(const batch& b, changes& todo);
  verdict judge_answers(const batch& b);
  verdict judge_versions(const batch& b);
  verdict judge_budgets(const batch& b, changes& todo);
  verdict judge_budget_move(const budget_move& m, changes& todo);
  verdict judge_claims(const batch& b, changes& todo);
  verdict judge_claim_move(const claim_move& m, const stream_id& stream,
                           std::uint64_t position, changes& todo);
  verdict judge_limiter(const batch& b);
  result<appended> write(const batch& b, const changes& todo);
  result<std::uint64_t> version_of(const stream_id& stream);

  [[nodiscard]] rejected no(unmet why, std::string subject) const {
    return {why, std::move(subject), std::nullopt, std::nullopt, now_};
  }
  [[nodiscard]] rejected held(unmet why, std::string claim,
                              std::optional<claim_holder> holder) const {
    return {why, std::move(claim), std::move(holder), std::nullopt, now_};
  }

  ledger& tables_;
  head_state head_;
  time_point now_;
  time_point event_time_;  // a clock set back does not reorder the events
  std::unordered_map<stream_id, std::uint64_t> versions_;
  std::vector<std::string> hashes_;
};

result<append_outcome> group_writer::take(const batch& b) {
  if (b.has_events()) {
    if (b.id.empty())
      return fail(errc::internal, "a batch with events has no id");
    BC_TRY(stored, stored_batch(tables_, b.id.str(), now_));
    if (stored)
      return append_outcome{std::move(*stored)};
  }
  changes todo;
  BC_TRY(refused, judge(b, todo));
  if (refused)
    return append_outcome{std::move(*refused)};
  if (!b.has_events())
    return append_outcome{appended{{}, now_}};
  BC_TRY(done, write(b, todo));
  return append_outcome{std::move(done)};
}

verdict group_writer::judge(const batch& b, changes& todo) {
  BC_TRY(answer, judge_answers(b));
  if (answer)
    return std::move(answer);
  BC_TRY(version, judge_versions(b));
  if (version)
    return std::move(version);
  BC_TRY(budget, judge_budgets(b, todo));
  if (budget)
    return std::move(budget);
  BC_TRY(claim, judge_claims(b, todo));
  if (claim)
    return std::move(claim);
  BC_TRY(limit, judge_limiter(b));
  if (limit)
    return std::move(limit);
  if (b.valid_until && now_ >= *b.valid_until)
    return no(unmet::expired, b.id.str());
  return std::nullopt;
}

verdict group_writer::judge_answers(const batch& b) {
  for (const auto& claim : b.answers_free) {
    BC_TRY(holder, tables_.find_claim(claim));
    if (!is_free(holder, now_))
      return held(unmet::answer, claim, std::move(holder));
  }
  return std::nullopt;
}

verdict group_writer::judge_versions(const batch& b) {
  for (const auto& w : b.writes) {
    if (!w.expected_version)
      continue;
    BC_TRY(version, version_of(w.stream));
    if (version == *w.expected_version)
      continue;
    auto refused = no(unmet::version, w.stream);
    refused.version = version;
    return refused;
  }
  return std::nullopt;
}

verdict group_writer::judge_budgets(const batch& b, changes& todo) {
  for (const auto& need : b.budgets) {
    BC_TRY(row, tables_.find_budget(need.budget));
    if (!row || row->closed || row->left < need.amount)
      return no(unmet::budget, need.budget);
  }
  for (const auto& w : b.writes)
    for (const auto& e : w.events)
      for (const auto& move : e.effect.budgets) {
        BC_TRY(refused, judge_budget_move(move, todo));
        if (refused)
          return std::move(refused);
      }
  return std::nullopt;
}

// Each move sees those before it in the same batch.
verdict group_writer::judge_budget_move(const budget_move& m, changes& todo) {
  std::optional<budget_row> row;
  if (auto i = todo.budgets.find(m.budget); i != todo.budgets.end()) {
    row = i->second;
  } else {
    BC_TRY(stored, tables_.find_budget(m.budget));
    row = stored;
  }
  switch (m.what) {
    case budget_move::kind::open:
      if (row || m.amount < 0)
        return no(unmet::budget, m.budget);
      row = budget_row{m.amount, false};
      break;
    case budget_move::kind::spend:
      if (!row || row->closed || m.amount < 0 || row->left < m.amount)
        return no(unmet::budget, m.budget);
      row->left -= m.amount;
      break;
    case budget_move::kind::close:
      if (!row)
        return std::nullopt;
      row->closed = true;
      break;
  }
  todo.budgets[m.budget] = *row;
  return std::nullopt;
}

verdict group_writer::judge_claims(const batch& b, changes& todo) {
  for (const auto& need : b.claims) {
    BC_TRY(holder, tables_.find_claim(need.claim));
    if (is_free(holder, now_))
      continue;
    if (need.holder.empty() || holder->stream != need.holder)
      return held(unmet::claim, need.claim, std::move(holder));
  }
  auto position = head_.row.position;
  for (const auto& w : b.writes)
    for (const auto& e : w.events) {
      ++position;
      for (const auto& move : e.effect.claims) {
        BC_TRY(refused, judge_claim_move(move, w.stream, position, todo));
        if (refused)
          return std::move(refused);
      }
    }
  return std::nullopt;
}

verdict group_writer::judge_claim_move(const claim_move& m,
                                       const stream_id& stream,
                                       std::uint64_t position, changes& todo) {
  std::optional<claim_holder> holder;
  if (auto i = todo.claims.find(m.claim); i != todo.claims.end()) {
    holder = i->second;
  } else {
    BC_TRY(stored, tables_.find_claim(m.claim));
    holder = std::move(stored);
  }
  bool own = holder && holder->stream == stream;
  if (m.what == claim_move::kind::release) {
    if (own)
      todo.claims[m.claim] = std::nullopt;
    return std::nullopt;
  }
  if (!own && !is_free(holder, now_))
    return held(unmet::claim, m.claim, std::move(holder));
  todo.claims[m.claim] = claim_holder{stream, position, m.expires_at};
  return std::nullopt;
}

verdict group_writer::judge_limiter(const batch& b) {
  if (!b.limiter)
    return std::nullopt;
  const auto& need = *b.limiter;
  auto limit = static_cast<std::size_t>(std::max(need.limit, 1));
  BC_TRY(row, tables_.limiter(need.stream, limit));
  auto refused = no(unmet::limiter, need.stream);
  refused.version = row.version;
  if (row.version != need.row_version)
    return refused;
  if (row.recent.size() >= limit && row.recent.back() > now_ - need.window)
    return refused;
  return std::nullopt;
}

result<appended> group_writer::write(const batch& b, const changes& todo) {
  appended done{{}, now_};
  for (const auto& w : b.writes)
    for (const auto& event : w.events) {
      BC_TRY(version, version_of(w.stream));
      envelope e;
      e.position = ++head_.row.position;
      e.commit = head_.row.commit + 1;
      e.stream = w.stream;
      e.version = version + 1;
      e.type = event.type;
      e.type_version = event.type_version;
      e.tenant = w.tenant;
      e.time = event_time_;
      e.actor = b.actor;
      e.correlation = b.correlation;
      e.data = event.data;
      e.internal = event.internal;
      e.batch = b.id.str();
      e.hash = row_hash(e);
      BC_TRYV(tables_.add_event(e));
      versions_[w.stream] = e.version;
      hashes_.push_back(e.hash);
      if (event.effect.incarnation)
        head_.row.incarnation = *event.effect.incarnation;
      done.events.push_back(std::move(e));
    }
  BC_TRYV(tables_.add_batch({b.id.str(), head_.row.commit + 1,
                             done.events.front().position,
                             done.events.back().position}));
  for (const auto& [claim, holder] : todo.claims) {
    BC_TRYV(tables_.set_claim(claim, holder));
  }
  for (const auto& [budget, row] : todo.budgets) {
    BC_TRYV(tables_.set_budget(budget, row));
  }
  if (b.limiter) {
    BC_TRYV(
        tables_.set_limiter(b.limiter->stream, b.limiter->row_version + 1, 0));
  }
  return done;
}

result<bool> group_writer::finish() {
  if (hashes_.empty())
    return false;
  ++head_.row.commit;
  head_.row.link = commit_link(head_.row.link, hashes_);
  head_.time = event_time_;
  BC_TRYV(tables_.add_commit(
      {head_.row.commit, head_.row.position, head_.row.link}));
  BC_TRYV(tables_.set_head(head_));
  // More than a group can add, so that the table does not grow for ever, and
  // few enough not to hold the group up.
  BC_TRYV(tables_.purge_claims(now_ - purge_margin, 16 + 2 * hashes_.size()));
  return true;
}

result<std::uint64_t> group_writer::version_of(const stream_id& stream) {
  if (auto i = versions_.find(stream); i != versions_.end())
    return i->second;
  BC_TRY(version, tables_.stream_version(stream));
  versions_.emplace(stream, version);
  return version;
}

}  // namespace

result<group_outcome> append_group(ledger& tables, std::span<const batch> group,
                                   time_point now) {
  BC_TRY(head, tables.head());
  group_writer writer{tables, std::move(head), now};
  group_outcome done;
  done.outcomes.reserve(group.size());
  for (const auto& b : group) {
    BC_TRY(outcome, writer.take(b));
    done.outcomes.push_back(std::move(outcome));
  }
  BC_TRY(wrote, writer.finish());
  done.wrote = wrote;
  return done;
}

result<void> pass(fault_point point) {
  if (hit(point) == fault_action::error)
    return fail(errc::unavailable, "the journal cannot be written now", {},
                "an armed fault point");
  return ok();
}

result<std::optional<appended>> stored_batch(ledger& tables,
                                             std::string_view id,
                                             time_point now) {
  BC_TRY(row, tables.find_batch(id));
  if (!row)
    return std::nullopt;
  if (row->first == 0 || row->last < row->first)
    return fail(errc::internal, "the store is damaged: batch " +
                                    std::string{id} + " has no rows");
  BC_TRY(events,
         tables.events_after(row->first - 1, row->last - row->first + 1));
  return appended{std::move(events), now};
}

std::optional<lease> next_lease(const std::optional<lease>& current,
                                std::string_view holder, seconds ttl,
                                time_point now) {
  bool expired = !current || now >= current->expires_at;
  if (!expired && current->holder != holder)
    return std::nullopt;
  auto epoch = current ? current->epoch : 0;
  return lease{std::string{holder}, expired ? epoch + 1 : epoch, now + ttl};
}

result<void> check_epoch(const std::optional<lease>& current,
                         std::uint64_t epoch, time_point now) {
  if (current && current->epoch == epoch && now < current->expires_at)
    return ok();
  return fail(errc::invalid_state, "the lease is another's now");
}

}  // namespace bc::events::detail
