#include "events/sqlite_migrations.hpp"

#include "base/ids.hpp"
#include "events/journal_shapes.hpp"
#include "events/schema_fault.hpp"
#include "events/sql_transaction.hpp"
#include "pki/digest.hpp"
#include "schema/embedded.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace bc::events::detail {

namespace {

// Row n is what makes schema n + 1 of schema n; rows are never edited.
constexpr std::string_view migrations[] = {
    "sql/0001_create_journal.sql",
    "sql/0002_create_checkpoints.sql",
    "sql/0103_create_refused_joins.sql",
};
constexpr std::int64_t latest = std::size(migrations);

constexpr std::uintmax_t small_file = 8 * 1024 * 1024;

fault damaged(const std::string& what) {
  return fail(errc::internal, "the store is damaged: " + what);
}

result<std::int64_t> one_number(sqlite::connection& db, std::string_view sql) {
  BC_TRY(query, db.prepare(sql));
  BC_TRY(row, query.step());
  return row ? query.number(0) : 0;
}

result<void> migrate_by_one(sqlite::connection& db, std::int64_t version,
                            time_point now) {
  auto name = migrations[version - 1];
  auto text = schema::text_of(name);
  if (text.empty())
    return fail(errc::internal,
                "this program lacks its migration " + std::string{name});
  BC_TRYV(db.execute(std::string{text}));
  BC_TRY(insert, db.prepare("insert into schema_version (version, applied_ms) "
                            "values (?, ?)"));
  return insert.bind(1, version).bind(2, to_millis(now)).run();
}

result<void> make_head(sqlite::connection& db, time_point now) {
  auto incarnation = pki::mint<incarnation_id>(now);
  BC_TRY(insert,
         db.prepare("insert into head (only, position, commit_no, link, "
                    "incarnation, time_ms) values (1, 0, 0, '', ?, 0)"));
  return insert.bind(1, incarnation.str()).run();
}

result<void> make_version_table(sqlite::connection& db) {
  BC_TRY(tables, one_number(db,
                            "select count(*) from sqlite_master "
                            "where type = 'table'"));
  BC_TRY(known, one_number(db,
                           "select count(*) from sqlite_master "
                           "where name = 'schema_version'"));
  if (known > 0)
    return ok();
  if (tables > 0)
    return damaged(
        "it has tables but no schema_version; this is not a better-compute "
        "store");
  return db.execute(
      "create table schema_version (version integer primary key, "
      "applied_ms integer not null)");
}

fault newer(std::int64_t version) {
  return fail(errc::invalid_state,
              "the store has schema " + std::to_string(version) +
                  ", this program knows up to " + std::to_string(latest) +
                  "; use a newer better-compute");
}

}  // namespace

result<void> require_file(const std::string& path) {
  std::error_code failed;
  auto size = std::filesystem::file_size(path, failed);
  if (failed == std::errc::no_such_file_or_directory || (!failed && size == 0))
    return needs_migration(0, latest);
  if (failed)
    return fail(errc::invalid_config,
                "cannot open " + path + ": " + failed.message());
  return ok();
}

result<int> require_schema(sqlite::connection& db) {
  BC_TRY(known, one_number(db,
                           "select count(*) from sqlite_master "
                           "where name = 'schema_version'"));
  std::int64_t version = 0;
  if (known > 0) {
    BC_TRY(found, one_number(db,
                             "select coalesce(max(version), 0) "
                             "from schema_version"));
    version = found;
  }
  if (version > latest)
    return newer(version);
  if (version < latest)
    return needs_migration(version, latest);
  return static_cast<int>(latest);
}

result<void> migrate(sqlite::connection& db, time_point now) {
  BC_TRYV(make_version_table(db));
  BC_TRY(version, one_number(db,
                             "select coalesce(max(version), 0) "
                             "from schema_version"));
  if (version > latest)
    return newer(version);
  for (auto next = version + 1; next <= latest; ++next) {
    sql::transaction t{db};
    BC_TRYV(t.begin());
    BC_TRYV(migrate_by_one(db, next, now));
    if (next == 1) {
      BC_TRYV(make_head(db, now));
    }
    BC_TRYV(t.commit());
  }
  return ok();
}

result<void> check_store(sqlite::connection& db, const std::string& path) {
  for (auto sql : journal_shapes)
    if (auto shape = db.prepare(sql); !shape)
      return damaged(shape.error().message);
  BC_TRY(heads, one_number(db, "select count(*) from head"));
  if (heads != 1)
    return damaged("the head row is missing");
  BC_TRY(fits,
         one_number(
             db,
             "select position = (select coalesce(max(position), 0) from events)"
             " and commit_no = (select coalesce(max(commit_no), 0) from "
             "commits) from head"));
  if (fits != 1)
    return damaged("the head row does not fit the events");
  std::error_code ignored;
  if (std::filesystem::file_size(path, ignored) > small_file)
    return ok();
  BC_TRY(quick, db.prepare("pragma quick_check(1)"));
  BC_TRY(row, quick.step());
  auto found = row ? quick.text(0) : "no answer";
  if (found == "ok")
    return ok();
  // The first line only names the database.
  if (auto end = found.find('\n'); end != std::string::npos)
    found.erase(0, end + 1);
  return damaged(found);
}

}  // namespace bc::events::detail
