#include "events/sqlite_ledger.hpp"

#include "events/journal_shapes.hpp"

#include <algorithm>
#include <utility>

namespace bc::events::detail {

namespace {

using sql::of_sql;
using sql::to_bound;
using sql::to_sql;

std::optional<std::int64_t> to_sql(const std::optional<time_point>& t) {
  if (!t)
    return std::nullopt;
  return to_millis(*t);
}

envelope read_event(const sql::statement& row) {
  envelope e;
  e.position = of_sql(row.number(0));
  e.commit = of_sql(row.number(1));
  e.stream = row.text(2);
  e.version = of_sql(row.number(3));
  e.type = row.text(4);
  e.type_version = static_cast<int>(row.number(5));
  e.tenant = row.text(6);
  e.time = from_millis(row.number(7));
  e.actor = row.text(8);
  e.correlation = row.text(9);
  e.data = row.text(10);
  e.internal = row.text(11);
  e.hash = row.text(12);
  e.batch = row.text(13);
  return e;
}

result<std::vector<envelope>> read_events(sql::statement& query,
                                          std::size_t limit) {
  std::vector<envelope> events;
  events.reserve(std::min<std::size_t>(limit, 1024));
  for (;;) {
    BC_TRY(row, query.step());
    if (!row)
      return events;
    events.push_back(read_event(query));
  }
}

// Columns from `first`: stream, position, expires_ms.
claim_holder read_claim(const sql::statement& row, int first) {
  claim_holder holder{row.text(first), of_sql(row.number(first + 1)),
                      std::nullopt};
  if (!row.is_null(first + 2))
    holder.expires_at = from_millis(row.number(first + 2));
  return holder;
}

result<std::uint64_t> read_number(sql::statement query) {
  BC_TRY(row, query.step());
  return row ? of_sql(query.number(0)) : 0;
}

}  // namespace

result<head_state> sqlite_ledger::head() {
  BC_TRY(query, db_.prepare("select position, commit_no, link, incarnation, "
                            "time_ms from head where only = 1"));
  BC_TRY(row, query.step());
  if (!row)
    return fail(errc::internal,
                "the store is damaged: the head row is missing");
  BC_TRY(incarnation, incarnation_id::parse(query.text(3)));
  return head_state{{of_sql(query.number(0)), of_sql(query.number(1)),
                     query.text(2), std::move(incarnation)},
                    from_millis(query.number(4))};
}

result<std::vector<envelope>> sqlite_ledger::events_after(
    std::uint64_t position, std::size_t limit) {
  BC_TRY(query, db_.prepare("select " BC_EVENT_COLUMNS
                            " from events where position > ? order by position "
                            "limit ?"));
  query.bind(1, to_bound(position)).bind(2, to_bound(limit));
  return read_events(query, limit);
}

result<std::vector<envelope>> sqlite_ledger::stream_after(
    std::string_view stream, std::uint64_t version, std::size_t limit) {
  BC_TRY(query, db_.prepare("select " BC_EVENT_COLUMNS
                            " from events where stream = ? and version > ? "
                            "order by version limit ?"));
  query.bind(1, stream).bind(2, to_bound(version)).bind(3, to_bound(limit));
  return read_events(query, limit);
}

result<std::uint64_t> sqlite_ledger::stream_version(std::string_view stream) {
  BC_TRY(query, db_.prepare("select coalesce(max(version), 0) from events "
                            "where stream = ?"));
  query.bind(1, stream);
  return read_number(std::move(query));
}

result<std::optional<batch_row>> sqlite_ledger::find_batch(
    std::string_view batch) {
  BC_TRY(query, db_.prepare("select commit_no, first_position, last_position "
                            "from batches where batch = ?"));
  BC_TRY(row, query.bind(1, batch).step());
  if (!row)
    return std::nullopt;
  return batch_row{std::string{batch}, of_sql(query.number(0)),
                   of_sql(query.number(1)), of_sql(query.number(2))};
}

result<std::optional<claim_holder>> sqlite_ledger::find_claim(
    std::string_view claim) {
  BC_TRY(query, db_.prepare("select stream, position, expires_ms from claims "
                            "where claim = ?"));
  BC_TRY(row, query.bind(1, claim).step());
  if (!row)
    return std::nullopt;
  return read_claim(query, 0);
}

result<std::optional<budget_row>> sqlite_ledger::find_budget(
    std::string_view budget) {
  BC_TRY(query, db_.prepare("select amount_left, closed from budgets "
                            "where budget = ?"));
  BC_TRY(row, query.bind(1, budget).step());
  if (!row)
    return std::nullopt;
  return budget_row{query.number(0), query.number(1) != 0};
}

result<limiter_row> sqlite_ledger::limiter(std::string_view stream,
                                           std::size_t newest) {
  limiter_row found;
  BC_TRY(query, db_.prepare("select version, dropped from limiters "
                            "where stream = ?"));
  BC_TRY(known, query.bind(1, stream).step());
  if (known) {
    found.version = of_sql(query.number(0));
    found.dropped = of_sql(query.number(1));
  }
  BC_TRY(times, db_.prepare("select time_ms from events where stream = ? "
                            "order by version desc limit ?"));
  times.bind(1, stream).bind(2, to_bound(newest));
  for (;;) {
    BC_TRY(row, times.step());
    if (!row)
      return found;
    found.recent.push_back(from_millis(times.number(0)));
  }
}

result<std::uint64_t> sqlite_ledger::batch_count() {
  BC_TRY(query, db_.prepare("select count(*) from batches"));
  return read_number(std::move(query));
}

result<std::uint64_t> sqlite_ledger::commit_count() {
  BC_TRY(query, db_.prepare("select count(*) from commits"));
  return read_number(std::move(query));
}

result<claim_table> sqlite_ledger::all_claims() {
  claim_table table;
  BC_TRY(query, db_.prepare("select claim, stream, position, expires_ms "
                            "from claims"));
  for (;;) {
    BC_TRY(row, query.step());
    if (!row)
      return table;
    table.emplace(query.text(0), read_claim(query, 1));
  }
}

result<budget_table> sqlite_ledger::all_budgets() {
  budget_table table;
  BC_TRY(query, db_.prepare("select budget, amount_left, closed from budgets"));
  for (;;) {
    BC_TRY(row, query.step());
    if (!row)
      return table;
    table.emplace(query.text(0),
                  budget_row{query.number(1), query.number(2) != 0});
  }
}

result<void> sqlite_ledger::add_event(const envelope& e) {
  {
    BC_TRY(insert,
           db_.prepare("insert into events (" BC_EVENT_COLUMNS
                       ") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    insert.bind(1, to_sql(e.position))
        .bind(2, to_sql(e.commit))
        .bind(3, e.stream)
        .bind(4, to_sql(e.version))
        .bind(5, e.type)
        .bind(6, std::int64_t{e.type_version})
        .bind(7, e.tenant)
        .bind(8, to_millis(e.time))
        .bind(9, e.actor)
        .bind(10, e.correlation)
        .bind(11, e.data)
        .bind(12, e.internal)
        .bind(13, e.hash)
        .bind(14, e.batch);
    BC_TRYV(insert.run());
  }
  return projector_ == nullptr ? result<void>{ok()} : project(e);
}

result<void> sqlite_ledger::add_batch(const batch_row& row) {
  BC_TRY(insert,
         db_.prepare("insert into batches (batch, commit_no, first_position, "
                     "last_position) values (?, ?, ?, ?)"));
  insert.bind(1, row.batch)
      .bind(2, to_sql(row.commit))
      .bind(3, to_sql(row.first))
      .bind(4, to_sql(row.last));
  return insert.run();
}

result<void> sqlite_ledger::add_commit(const commit_row& row) {
  BC_TRY(insert, db_.prepare("insert into commits (commit_no, last_position, "
                             "link) values (?, ?, ?)"));
  insert.bind(1, to_sql(row.commit))
      .bind(2, to_sql(row.last))
      .bind(3, row.link);
  return insert.run();
}

result<void> sqlite_ledger::set_head(const head_state& head) {
  if (projector_ != nullptr) {
    BC_TRYV(projector_->finish(db_, head.row.position));
  }
  BC_TRY(update,
         db_.prepare("update head set position = ?, commit_no = ?, link = ?, "
                     "incarnation = ?, time_ms = ? where only = 1"));
  update.bind(1, to_sql(head.row.position))
      .bind(2, to_sql(head.row.commit))
      .bind(3, head.row.link)
      .bind(4, head.row.incarnation.str())
      .bind(5, to_millis(head.time));
  return update.run();
}

result<void> sqlite_ledger::set_claim(
    std::string_view claim, const std::optional<claim_holder>& holder) {
  if (!holder) {
    BC_TRY(erase, db_.prepare("delete from claims where claim = ?"));
    return erase.bind(1, claim).run();
  }
  BC_TRY(insert,
         db_.prepare("insert or replace into claims (claim, stream, position, "
                     "expires_ms) values (?, ?, ?, ?)"));
  insert.bind(1, claim)
      .bind(2, holder->stream)
      .bind(3, to_sql(holder->position))
      .bind(4, to_sql(holder->expires_at));
  return insert.run();
}

result<void> sqlite_ledger::purge_claims(time_point before, std::size_t most) {
  BC_TRY(erase, db_.prepare("delete from claims where claim in (select claim "
                            "from claims where expires_ms < ? "
                            "order by expires_ms limit ?)"));
  return erase.bind(1, to_millis(before)).bind(2, to_bound(most)).run();
}

result<void> sqlite_ledger::set_budget(std::string_view budget,
                                       const budget_row& row) {
  BC_TRY(insert,
         db_.prepare("insert or replace into budgets (budget, amount_left, "
                     "closed) values (?, ?, ?)"));
  insert.bind(1, budget).bind(2, row.left).bind(3, row.closed ? 1L : 0L);
  return insert.run();
}

result<void> sqlite_ledger::set_limiter(std::string_view stream,
                                        std::uint64_t version,
                                        std::uint64_t dropped) {
  BC_TRY(insert,
         db_.prepare("insert or replace into limiters (stream, version, "
                     "dropped) values (?, ?, ?)"));
  insert.bind(1, stream).bind(2, to_sql(version)).bind(3, to_sql(dropped));
  return insert.run();
}

result<std::optional<lease>> sqlite_ledger::find_lease() {
  BC_TRY(query, db_.prepare("select holder, epoch, expires_ms from lease "
                            "where only = 1"));
  BC_TRY(row, query.step());
  if (!row)
    return std::nullopt;
  return lease{query.text(0), of_sql(query.number(1)),
               from_millis(query.number(2))};
}

result<void> sqlite_ledger::set_lease(const lease& l) {
  BC_TRY(insert,
         db_.prepare("insert or replace into lease (only, holder, epoch, "
                     "expires_ms) values (1, ?, ?, ?)"));
  insert.bind(1, l.holder)
      .bind(2, to_sql(l.epoch))
      .bind(3, to_millis(l.expires_at));
  return insert.run();
}

result<std::optional<snapshot>> sqlite_ledger::find_snapshot(
    std::string_view stream) {
  BC_TRY(query, db_.prepare("select version, fold_version, state "
                            "from snapshots where stream = ?"));
  BC_TRY(row, query.bind(1, stream).step());
  if (!row)
    return std::nullopt;
  return snapshot{of_sql(query.number(0)), static_cast<int>(query.number(1)),
                  query.text(2)};
}

result<void> sqlite_ledger::set_snapshot(std::string_view stream,
                                         const snapshot& s) {
  BC_TRY(insert,
         db_.prepare("insert or replace into snapshots (stream, version, "
                     "fold_version, state) values (?, ?, ?, ?)"));
  insert.bind(1, stream)
      .bind(2, to_sql(s.version))
      .bind(3, std::int64_t{s.fold_version})
      .bind(4, s.state);
  return insert.run();
}

result<std::map<std::string, snapshot>> sqlite_ledger::all_snapshots() {
  BC_TRY(query, db_.prepare("select stream, version, fold_version, state "
                            "from snapshots"));
  std::map<std::string, snapshot> out;
  for (;;) {
    BC_TRY(row, query.step());
    if (!row)
      return out;
    out.emplace(query.text(0),
                snapshot{of_sql(query.number(1)),
                         static_cast<int>(query.number(2)), query.text(3)});
  }
}

}  // namespace bc::events::detail
