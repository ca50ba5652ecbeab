#include "events/journal_chain.hpp"
#include "events/sqlite_ledger.hpp"

#include <array>
#include <string_view>

// Signed heads, and what a check asks of SQLite alone.
namespace bc::events::detail {

namespace {

using sql::of_sql;
using sql::to_bound;

/// A table whose values must have the types of their columns: what names a row
/// of it, and the columns. SQLite keeps any value in any column, and a text
/// that is stored as a blob reads the same but equals no text.
struct typed_table {
  std::string_view table;
  std::string_view row;  // the key's name in a message
  std::string_view key;
  std::array<std::string_view, 10> texts;
  std::array<std::string_view, 5> numbers;
  std::string_view empty_or_number = {};
};

constexpr typed_table typed_tables[] = {
    {"events",
     "row",
     "position",
     {"stream", "type", "tenant", "actor", "correlation", "data", "internal",
      "hash", "batch"},
     {"commit_no", "version", "type_version", "time_ms"}},
    {"commits", "commit", "commit_no", {"link"}, {"last_position"}},
    {"batches",
     "batch",
     "batch",
     {"batch"},
     {"commit_no", "first_position", "last_position"}},
    {"head",
     "the head, row",
     "only",
     {"link", "incarnation"},
     {"position", "commit_no", "time_ms"}},
    {"claims",
     "claim",
     "claim",
     {"claim", "stream"},
     {"position"},
     "expires_ms"},
    {"budgets", "budget", "budget", {"budget"}, {"amount_left", "closed"}},
    {"snapshots",
     "the snapshot of",
     "stream",
     {"stream", "state"},
     {"version", "fold_version"}},
    {"checkpoints",
     "the checkpoint at row",
     "position",
     {"link", "incarnation", "signature"},
     {"commit_no", "time_ms"}}};

std::string odd_values_of(const typed_table& t) {
  std::string where;
  auto add = [&](std::string_view column, std::string_view types) {
    if (column.empty())
      return;
    where += where.empty() ? "" : " or ";
    where += "typeof(" + std::string{column} + ") not in (" +
             std::string{types} + ")";
  };
  for (auto column : t.texts)
    add(column, "'text'");
  for (auto column : t.numbers)
    add(column, "'integer'");
  add(t.empty_or_number, "'integer', 'null'");
  return "select " + std::string{t.key} + " from " + std::string{t.table} +
         " where " + where + " limit 1";
}

}  // namespace

result<void> sqlite_ledger::check_hidden() {
  {
    BC_TRY(query, db_.prepare("select position from events where position < 1 "
                              "order by position limit 1"));
    BC_TRY(row, query.step());
    if (row)
      return does_not_verify("row " + std::to_string(query.number(0)) +
                             " was inserted before the first");
  }
  for (const auto& t : typed_tables) {
    BC_TRY(query, db_.prepare(odd_values_of(t)));
    BC_TRY(row, query.step());
    if (row)
      return does_not_verify(std::string{t.row} + " " + query.text(0) +
                             " holds a value of another type than its "
                             "column's");
  }
  return ok();
}

result<std::vector<commit_row>> sqlite_ledger::commits_after(
    std::uint64_t commit, std::size_t limit) {
  BC_TRY(query, db_.prepare("select commit_no, last_position, link "
                            "from commits where commit_no > ? "
                            "order by commit_no limit ?"));
  query.bind(1, to_bound(commit)).bind(2, to_bound(limit));
  std::vector<commit_row> out;
  for (;;) {
    BC_TRY(row, query.step());
    if (!row)
      return out;
    out.push_back(
        {of_sql(query.number(0)), of_sql(query.number(1)), query.text(2)});
  }
}

result<std::vector<checkpoint>> sqlite_ledger::checkpoints_after(
    std::uint64_t position, std::size_t limit) {
  BC_TRY(query,
         db_.prepare("select position, commit_no, link, incarnation, time_ms, "
                     "signature from checkpoints where position > ? "
                     "order by position limit ?"));
  query.bind(1, to_bound(position)).bind(2, to_bound(limit));
  std::vector<checkpoint> out;
  for (;;) {
    BC_TRY(row, query.step());
    if (!row)
      return out;
    checkpoint c;
    c.position = of_sql(query.number(0));
    c.commit = of_sql(query.number(1));
    c.link = query.text(2);
    BC_TRY(incarnation, incarnation_id::parse(query.text(3)));
    c.incarnation = incarnation;
    c.time = from_millis(query.number(4));
    c.signature = query.text(5);
    out.push_back(std::move(c));
  }
}

result<void> sqlite_ledger::add_checkpoint(const checkpoint& c) {
  BC_TRY(insert,
         db_.prepare("insert or replace into checkpoints (position, commit_no, "
                     "link, incarnation, time_ms, signature) "
                     "values (?, ?, ?, ?, ?, ?)"));
  insert.bind(1, to_bound(c.position))
      .bind(2, to_bound(c.commit))
      .bind(3, c.link)
      .bind(4, c.incarnation.str())
      .bind(5, to_millis(c.time))
      .bind(6, c.signature);
  return insert.run();
}

}  // namespace bc::events::detail
