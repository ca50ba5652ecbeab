#include "events/postgres_group.hpp"

#include <algorithm>
#include <utility>

namespace bc::events::detail {

namespace {

using postgres::argument;
using postgres::call;
using postgres::number_array;
using postgres::rows;
using postgres::text_array;
using sql::of_sql;

argument names_of(const std::unordered_set<std::string_view>& names) {
  text_array a;
  for (auto name : names)
    a.add(name);
  return a.take();
}

call lock_call(const questions& asked) {
  text_array limiters;
  number_array newest;
  for (const auto& [stream, most] : asked.limiters) {
    limiters.add(stream);
    newest.add(most);
  }
  return {
      "select kind, name, other, a, b, c from lock_journal($1, $2, $3, $4, "
      "$5, $6)",
      {names_of(asked.batches), names_of(asked.streams), names_of(asked.claims),
       names_of(asked.budgets), limiters.take(), newest.take()}};
}

}  // namespace

result<void> postgres_group::lock(const questions& asked) {
  // Whatever the database's default is: each statement is to see what was
  // committed before it.
  std::vector<call> calls{{"begin isolation level read committed"},
                          lock_call(asked)};
  BC_TRY(answers, db_.run(calls));
  expect(asked);
  for (int row = 0; row < answers[1].count(); ++row) {
    BC_TRYV(take(answers[1], row));
  }
  if (!head_)
    return fail(errc::internal,
                "the store is damaged: the head row is missing");
  return ok();
}

void postgres_group::expect(const questions& asked) {
  for (auto name : asked.batches)
    batches_[std::string{name}];
  for (auto name : asked.streams)
    streams_[std::string{name}];
  for (auto name : asked.claims)
    claims_[std::string{name}];
  for (auto name : asked.budgets)
    budgets_[std::string{name}];
  for (const auto& [name, newest] : asked.limiters) {
    limiters_[std::string{name}].emplace();
    newest_[std::string{name}] = static_cast<std::size_t>(newest);
  }
}

// Columns: kind, name, other, a, b, c (schema/postgres/0003_lock_journal.sql).
result<void> postgres_group::take(const rows& answer, int row) {
  auto kind = answer.text(row, 0);
  std::string name{answer.text(row, 1)};
  auto a = answer.number(row, 3);
  auto b = answer.number(row, 4);
  auto c = answer.number(row, 5);
  if (kind == "now") {
    now_ = from_millis(a);
  } else if (kind == "head") {
    BC_TRY(incarnation, incarnation_id::parse(answer.text(row, 2)));
    head_ = {{of_sql(a), of_sql(b), std::move(name), std::move(incarnation)},
             from_millis(c)};
    stored_ = head_->row.position;
  } else if (kind == "batch") {
    batches_[name] = batch_row{name, of_sql(a), of_sql(b), of_sql(c)};
  } else if (kind == "stream") {
    streams_[name] = of_sql(a);
  } else if (kind == "claim") {
    claim_holder holder{std::string{answer.text(row, 2)}, of_sql(a),
                        std::nullopt};
    if (!answer.is_null(row, 4))
      holder.expires_at = from_millis(b);
    claims_[name] = std::move(holder);
  } else if (kind == "budget") {
    budgets_[name] = budget_row{a, b != 0};
  } else if (kind == "limiter") {
    limiters_[name]->version = of_sql(a);
    limiters_[name]->dropped = of_sql(b);
  } else if (kind == "recent") {
    // They come newest first.
    limiters_[name]->recent.push_back(from_millis(a));
  }
  return ok();
}

result<head_state> postgres_group::head() {
  if (head_)
    return *head_;
  return postgres_reader::head();
}

// A batch that was written by this same group is looked up here.
result<std::vector<envelope>> postgres_group::events_after(
    std::uint64_t position, std::size_t limit) {
  if (position < stored_)
    return postgres_reader::events_after(position, limit);
  auto first = std::min<std::size_t>(position - stored_, new_events_.size());
  auto count = std::min(limit, new_events_.size() - first);
  auto from = new_events_.begin() + static_cast<std::ptrdiff_t>(first);
  return std::vector<envelope>(from, from + static_cast<std::ptrdiff_t>(count));
}

result<std::uint64_t> postgres_group::stream_version(std::string_view stream) {
  if (auto i = streams_.find(std::string{stream}); i != streams_.end())
    return i->second.value_or(0);
  return postgres_reader::stream_version(stream);
}

result<std::optional<batch_row>> postgres_group::find_batch(
    std::string_view batch) {
  if (auto i = batches_.find(std::string{batch}); i != batches_.end())
    return i->second;
  return postgres_reader::find_batch(batch);
}

result<std::optional<claim_holder>> postgres_group::find_claim(
    std::string_view claim) {
  if (auto i = claims_.find(std::string{claim}); i != claims_.end())
    return i->second;
  return postgres_reader::find_claim(claim);
}

result<std::optional<budget_row>> postgres_group::find_budget(
    std::string_view budget) {
  if (auto i = budgets_.find(std::string{budget}); i != budgets_.end())
    return i->second;
  return postgres_reader::find_budget(budget);
}

result<limiter_row> postgres_group::limiter(std::string_view stream,
                                            std::size_t newest) {
  std::string name{stream};
  limiter_row found;
  if (auto i = limiters_.find(name);
      i != limiters_.end() && newest_[name] >= newest) {
    found = *i->second;
  } else {
    BC_TRY(stored, postgres_reader::limiter(stream, newest));
    found = std::move(stored);
  }
  std::vector<time_point> recent;
  for (auto e = new_events_.rbegin(); e != new_events_.rend(); ++e)
    if (e->stream == stream)
      recent.push_back(e->time);
  recent.insert(recent.end(), found.recent.begin(), found.recent.end());
  if (recent.size() > newest)
    recent.resize(newest);
  found.recent = std::move(recent);
  return found;
}

result<void> postgres_group::add_event(const envelope& e) {
  new_events_.push_back(e);
  streams_[e.stream] = e.version;
  return ok();
}

result<void> postgres_group::add_batch(const batch_row& row) {
  new_batches_.push_back(row);
  batches_[row.batch] = row;
  return ok();
}

result<void> postgres_group::add_commit(const commit_row& row) {
  new_commit_ = row;
  return ok();
}

result<void> postgres_group::set_head(const head_state& head) {
  head_ = head;
  return ok();
}

result<void> postgres_group::set_claim(
    std::string_view claim, const std::optional<claim_holder>& holder) {
  claims_[std::string{claim}] = holder;
  changed_claims_.emplace(claim);
  return ok();
}

result<void> postgres_group::purge_claims(time_point before, std::size_t most) {
  purge_ = {before, most};
  return ok();
}

result<void> postgres_group::set_budget(std::string_view budget,
                                        const budget_row& row) {
  budgets_[std::string{budget}] = row;
  changed_budgets_.emplace(budget);
  return ok();
}

result<void> postgres_group::set_limiter(std::string_view stream,
                                         std::uint64_t version,
                                         std::uint64_t dropped) {
  auto& row = limiters_[std::string{stream}];
  if (!row)
    row.emplace();
  row->version = version;
  row->dropped = dropped;
  changed_limiters_.emplace(stream);
  return ok();
}

result<void> postgres_group::commit() {
  BC_TRY(answers, db_.run(writes()));
  static_cast<void>(answers);
  return ok();
}

}  // namespace bc::events::detail
