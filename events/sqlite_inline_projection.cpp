#include "events/sqlite_ledger.hpp"

namespace bc::events::detail {

namespace {

result<void> run(sqlite::connection& db, std::string_view sql) {
  BC_TRY(statement, db.prepare(sql));
  return statement.run();
}

}  // namespace

// A poison event parks its stream, not the group; what the machine cannot do
// now (a full disk) is no fault of the event's and fails the group.
result<void> sqlite_ledger::project(const envelope& e) {
  BC_TRY(parked, is_parked(e.stream));
  if (parked)
    return ok();
  BC_TRYV(run(db_, "savepoint projection"));
  auto done = projector_->apply(db_, e);
  if (!done) {
    if (done.error().code == errc::unavailable || !db_.in_transaction())
      return std::move(done).error();
    BC_TRYV(run(db_, "rollback to projection"));
    BC_TRYV(park(e, done.error()));
  }
  return run(db_, "release projection");
}

result<bool> sqlite_ledger::is_parked(std::string_view stream) {
  BC_TRY(query, db_.prepare("select 1 from parked_streams where stream = ?"));
  return query.bind(1, stream).step();
}

result<void> sqlite_ledger::park(const envelope& e, const fault& why) {
  auto reason = why.message;
  if (!why.detail.empty())
    reason += " (" + why.detail + ")";
  BC_TRY(insert, db_.prepare("insert into parked_streams (stream, position, "
                             "reason) values (?, ?, ?)"));
  insert.bind(1, e.stream).bind(2, sql::to_sql(e.position)).bind(3, reason);
  return insert.run();
}

}  // namespace bc::events::detail
