#include "projections/checkpoint.hpp"

#include "events/schema_fault.hpp"

namespace bc::projections {

namespace {

result<checkpoint> read(sql::connection& db, std::string_view query) {
  BC_TRY(s, db.prepare(query));
  BC_TRY(row, s.step());
  if (!row)
    return fail(errc::internal, "the read models have no checkpoint");
  return checkpoint{sql::of_sql(s.number(0)), sql::of_sql(s.number(1))};
}

constexpr std::string_view read_position =
    "select position, version from projection_checkpoint where one = 1";

}  // namespace

std::string not_ours(const checkpoint& at) {
  auto text = "the read models are of version " + std::to_string(at.version) +
              ", this program writes version " +
              std::to_string(written_version);
  return text.append(is_older(at) ? events::migrate_advice
                                  : "; restart with the program that wrote "
                                    "them");
}

result<checkpoint> read_checkpoint(sql::connection& db) {
  return read(db, read_position);
}

result<checkpoint> lock_checkpoint(sql::connection& db) {
  // On SQLite the transaction itself keeps everybody else out.
  if (db.kind() == sql::dialect::sqlite)
    return read(db, read_position);
  return read(
      db,
      "select position, version from projection_checkpoint where one = 1 "
      "for update");
}

result<void> move_checkpoint(sql::connection& db, std::uint64_t from,
                             std::uint64_t to) {
  BC_TRY(s, db.prepare(
                "update projection_checkpoint set position = ?, version = ? "
                "where one = 1 and position = ?"));
  BC_TRYV(s.bind(1, sql::to_sql(to))
              .bind(2, sql::to_sql(written_version))
              .bind(3, sql::to_sql(from))
              .run());
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
