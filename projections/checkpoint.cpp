#include "projections/checkpoint.hpp"

namespace bc::projections {

namespace {

result<std::uint64_t> read(sql::connection& db, std::string_view query) {
  BC_TRY(s, db.prepare(query));
  BC_TRY(row, s.step());
  if (!row)
    return fail(errc::internal, "the read models have no checkpoint");
  return sql::of_sql(s.number(0));
}

constexpr std::string_view read_position =
    "select position from projection_checkpoint where one = 1";

}  // namespace

result<std::uint64_t> read_checkpoint(sql::connection& db) {
  return read(db, read_position);
}

result<std::uint64_t> lock_checkpoint(sql::connection& db) {
  // On SQLite the transaction itself keeps everybody else out.
  if (db.kind() == sql::dialect::sqlite)
    return read(db, read_position);
  return read(db,
              "select position from projection_checkpoint where one = 1 "
              "for update");
}

result<void> move_checkpoint(sql::connection& db, std::uint64_t from,
                             std::uint64_t to) {
  BC_TRY(s, db.prepare("update projection_checkpoint set position = ? "
                       "where one = 1 and position = ?"));
  BC_TRYV(s.bind(1, sql::to_sql(to)).bind(2, sql::to_sql(from)).run());
  return db.expect_changes(1);
}

result<parked_streams> load_parked(sql::connection& db) {
  BC_TRY(s, db.prepare("select stream, position, reason from parked_streams"));
  parked_streams found;
  for (;;) {
    BC_TRY(row, s.step());
    if (!row)
      return found;
    found.emplace(s.text(0),
                  parked_stream{sql::of_sql(s.number(1)), s.text(2)});
  }
}

result<void> add_parked(sql::connection& db, const parked_streams& parked) {
  for (const auto& [stream, why] : parked) {
    BC_TRY(s, db.prepare("insert into parked_streams (stream, position, reason)"
                         " values (?, ?, ?)"));
    BC_TRYV(s.bind(1, stream)
                .bind(2, sql::to_sql(why.position))
                .bind(3, why.reason)
                .run());
  }
  return ok();
}

result<void> replace_parked(sql::connection& db, const parked_streams& parked) {
  BC_TRYV(db.execute("delete from parked_streams"));
  return add_parked(db, parked);
}

}  // namespace bc::projections
