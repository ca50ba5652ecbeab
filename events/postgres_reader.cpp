#include "events/postgres_reader.hpp"

#include "events/journal_chain.hpp"
#include "events/journal_shapes.hpp"

#include <utility>

namespace bc::events::detail {

namespace {

using postgres::rows;
using sql::of_sql;
using sql::to_bound;

std::string text(const rows& r, int row, int column) {
  return std::string{r.text(row, column)};
}

envelope read_event(const rows& r, int row) {
  envelope e;
  e.position = of_sql(r.number(row, 0));
  e.commit = of_sql(r.number(row, 1));
  e.stream = text(r, row, 2);
  e.version = of_sql(r.number(row, 3));
  e.type = text(r, row, 4);
  e.type_version = static_cast<int>(r.number(row, 5));
  e.tenant = text(r, row, 6);
  e.time = from_millis(r.number(row, 7));
  e.actor = text(r, row, 8);
  e.correlation = text(r, row, 9);
  e.data = text(r, row, 10);
  e.internal = text(r, row, 11);
  e.hash = text(r, row, 12);
  e.batch = text(r, row, 13);
  return e;
}

std::vector<envelope> read_events(const rows& r) {
  std::vector<envelope> events;
  events.reserve(static_cast<std::size_t>(r.count()));
  for (int row = 0; row < r.count(); ++row)
    events.push_back(read_event(r, row));
  return events;
}

// Columns from `first`: stream, position, expires_ms.
claim_holder read_claim(const rows& r, int row, int first) {
  claim_holder holder{text(r, row, first), of_sql(r.number(row, first + 1)),
                      std::nullopt};
  if (!r.is_null(row, first + 2))
    holder.expires_at = from_millis(r.number(row, first + 2));
  return holder;
}

result<checkpoint> read_checkpoint(const rows& r, int row) {
  checkpoint c;
  c.position = of_sql(r.number(row, 0));
  c.commit = of_sql(r.number(row, 1));
  c.link = text(r, row, 2);
  BC_TRY(incarnation, incarnation_id::parse(r.text(row, 3)));
  c.incarnation = incarnation;
  c.time = from_millis(r.number(row, 4));
  c.signature = text(r, row, 5);
  return c;
}

fault no_writing() {
  return fail(errc::internal, "this connection is for reading alone");
}

}  // namespace

result<rows> postgres_reader::ask(std::string_view sql,
                                  std::vector<postgres::argument> arguments) {
  postgres::call asked{sql, std::move(arguments)};
  BC_TRY(answers, db_.run({&asked, 1}));
  return std::move(answers.front());
}

result<head_state> postgres_reader::head() {
  BC_TRY(r, ask("select position, commit_no, link, incarnation, time_ms "
                "from head where one = 1"));
  if (r.count() != 1)
    return fail(errc::internal,
                "the store is damaged: the head row is missing");
  BC_TRY(incarnation, incarnation_id::parse(r.text(0, 3)));
  return head_state{{of_sql(r.number(0, 0)), of_sql(r.number(0, 1)),
                     text(r, 0, 2), std::move(incarnation)},
                    from_millis(r.number(0, 4))};
}

result<std::vector<envelope>> postgres_reader::events_after(
    std::uint64_t position, std::size_t limit) {
  BC_TRY(r, ask("select " BC_EVENT_COLUMNS
                " from events where position > $1 order by position limit $2",
                {to_bound(position), to_bound(limit)}));
  return read_events(r);
}

result<std::vector<envelope>> postgres_reader::stream_after(
    std::string_view stream, std::uint64_t version, std::size_t limit) {
  BC_TRY(r, ask("select " BC_EVENT_COLUMNS
                " from events where stream = $1 and version > $2 "
                "order by version limit $3",
                {stream, to_bound(version), to_bound(limit)}));
  return read_events(r);
}

result<std::uint64_t> postgres_reader::stream_version(std::string_view stream) {
  BC_TRY(r, ask("select coalesce(max(version), 0) from events "
                "where stream = $1",
                {stream}));
  return of_sql(r.number(0, 0));
}

result<std::optional<batch_row>> postgres_reader::find_batch(
    std::string_view batch) {
  BC_TRY(r, ask("select commit_no, first_position, last_position "
                "from batches where batch = $1",
                {batch}));
  if (r.count() == 0)
    return std::nullopt;
  return batch_row{std::string{batch}, of_sql(r.number(0, 0)),
                   of_sql(r.number(0, 1)), of_sql(r.number(0, 2))};
}

result<std::vector<batch_row>> postgres_reader::find_batches(
    const std::set<std::string>& batches) {
  postgres::text_array names;
  for (const auto& batch : batches)
    names.add(batch);
  BC_TRY(r, ask("select batch, commit_no, first_position, last_position "
                "from batches where batch = any($1::text[])",
                {names.take()}));
  std::vector<batch_row> found;
  for (int row = 0; row < r.count(); ++row)
    found.push_back({text(r, row, 0), of_sql(r.number(row, 1)),
                     of_sql(r.number(row, 2)), of_sql(r.number(row, 3))});
  return found;
}

result<std::vector<commit_row>> postgres_reader::commits_after(
    std::uint64_t commit, std::size_t limit) {
  BC_TRY(r, ask("select commit_no, last_position, link from commits "
                "where commit_no > $1 order by commit_no limit $2",
                {to_bound(commit), to_bound(limit)}));
  std::vector<commit_row> found;
  for (int row = 0; row < r.count(); ++row)
    found.push_back(
        {of_sql(r.number(row, 0)), of_sql(r.number(row, 1)), text(r, row, 2)});
  return found;
}

result<std::optional<claim_holder>> postgres_reader::find_claim(
    std::string_view claim) {
  BC_TRY(r, ask("select stream, position, expires_ms from claims "
                "where claim = $1",
                {claim}));
  if (r.count() == 0)
    return std::nullopt;
  return read_claim(r, 0, 0);
}

result<std::optional<claim_holder>> postgres_reader::find_live_claim(
    std::string_view claim) {
  BC_TRY(r, ask("select stream, position, expires_ms, store_now_ms() "
                "from claims where claim = $1",
                {claim}));
  if (r.count() == 0)
    return std::nullopt;
  return live(read_claim(r, 0, 0), from_millis(r.number(0, 3)));
}

result<std::optional<budget_row>> postgres_reader::find_budget(
    std::string_view budget) {
  BC_TRY(r, ask("select amount_left, closed from budgets where budget = $1",
                {budget}));
  if (r.count() == 0)
    return std::nullopt;
  return budget_row{r.number(0, 0), r.number(0, 1) != 0};
}

// One statement: the row and the events of one moment.
result<limiter_row> postgres_reader::limiter(std::string_view stream,
                                             std::size_t newest) {
  BC_TRY(r, ask("select 0 as kind, version as a, dropped as b from limiters "
                "where stream = $1 union all (select 1, version, time_ms "
                "from events where stream = $1 order by version desc limit $2)"
                " order by kind, a desc",
                {stream, to_bound(newest)}));
  limiter_row found;
  for (int row = 0; row < r.count(); ++row) {
    if (r.number(row, 0) == 1) {
      found.recent.push_back(from_millis(r.number(row, 2)));
      continue;
    }
    found.version = of_sql(r.number(row, 1));
    found.dropped = of_sql(r.number(row, 2));
  }
  return found;
}

result<void> postgres_reader::check_hidden() {
  BC_TRY(r, ask("select min(position) from events where position < 1"));
  if (r.is_null(0, 0))
    return ok();
  return does_not_verify("row " + std::to_string(r.number(0, 0)) +
                         " was inserted before the first");
}

result<std::uint64_t> postgres_reader::batch_count() {
  BC_TRY(r, ask("select count(*) from batches"));
  return of_sql(r.number(0, 0));
}

result<std::uint64_t> postgres_reader::commit_count() {
  BC_TRY(r, ask("select count(*) from commits"));
  return of_sql(r.number(0, 0));
}

result<claim_table> postgres_reader::all_claims() {
  BC_TRY(r, ask("select claim, stream, position, expires_ms from claims"));
  claim_table table;
  for (int row = 0; row < r.count(); ++row)
    table.emplace(text(r, row, 0), read_claim(r, row, 1));
  return table;
}

result<budget_table> postgres_reader::all_budgets() {
  BC_TRY(r, ask("select budget, amount_left, closed from budgets"));
  budget_table table;
  for (int row = 0; row < r.count(); ++row)
    table.emplace(text(r, row, 0),
                  budget_row{r.number(row, 1), r.number(row, 2) != 0});
  return table;
}

result<std::map<std::string, snapshot>> postgres_reader::all_snapshots() {
  BC_TRY(r, ask("select stream, version, fold_version, state from snapshots"));
  std::map<std::string, snapshot> all;
  for (int row = 0; row < r.count(); ++row)
    all.emplace(text(r, row, 0),
                snapshot{of_sql(r.number(row, 1)),
                         static_cast<int>(r.number(row, 2)), text(r, row, 3)});
  return all;
}

result<std::vector<checkpoint>> postgres_reader::checkpoints_after(
    std::uint64_t position, std::size_t limit) {
  BC_TRY(r, ask("select position, commit_no, link, incarnation, time_ms, "
                "signature from checkpoints where position > $1 "
                "order by position limit $2",
                {to_bound(position), to_bound(limit)}));
  std::vector<checkpoint> found;
  for (int row = 0; row < r.count(); ++row) {
    BC_TRY(c, read_checkpoint(r, row));
    found.push_back(std::move(c));
  }
  return found;
}

result<std::optional<snapshot>> postgres_reader::find_snapshot(
    std::string_view stream) {
  BC_TRY(r, ask("select version, fold_version, state from snapshots "
                "where stream = $1",
                {stream}));
  if (r.count() == 0)
    return std::nullopt;
  return snapshot{of_sql(r.number(0, 0)), static_cast<int>(r.number(0, 1)),
                  text(r, 0, 2)};
}

result<time_point> postgres_reader::store_time() {
  BC_TRY(r, ask("select store_now_ms()"));
  return from_millis(r.number(0, 0));
}

result<void> postgres_reader::add_event(const envelope&) {
  return no_writing();
}
result<void> postgres_reader::add_batch(const batch_row&) {
  return no_writing();
}
result<void> postgres_reader::add_commit(const commit_row&) {
  return no_writing();
}
result<void> postgres_reader::set_head(const head_state&) {
  return no_writing();
}
result<void> postgres_reader::set_claim(std::string_view,
                                        const std::optional<claim_holder>&) {
  return no_writing();
}
result<void> postgres_reader::purge_claims(time_point, std::size_t) {
  return no_writing();
}
result<void> postgres_reader::set_budget(std::string_view, const budget_row&) {
  return no_writing();
}
result<void> postgres_reader::set_limiter(std::string_view, std::uint64_t,
                                          std::uint64_t) {
  return no_writing();
}

}  // namespace bc::events::detail
