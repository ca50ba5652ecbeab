#include "events/postgres_migrations.hpp"

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "events/journal_shapes.hpp"
#include "events/schema_fault.hpp"
#include "events/sql_transaction.hpp"
#include "pki/digest.hpp"
#include "schema/embedded.hpp"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::events::detail {

namespace {

// Row n is what makes schema n + 1 of schema n; rows are never edited.
const std::vector<std::vector<std::string_view>> migrations{
    {"postgres/0001_create_journal.sql", "postgres/0002_store_now_ms.sql",
     "postgres/0003_lock_journal.sql"},
    {"postgres/0100_create_read_models.sql"},
    {"postgres/0101_extend_directory.sql"},
    {"postgres/0102_extend_nodes.sql"},
    {"postgres/0103_create_refused_joins.sql"},
    {"postgres/0104_version_read_models.sql"},
    {"postgres/0105_find_shared_hardware.sql"},
    {"postgres/0106_audit_by_actor.sql"},
    {"postgres/0107_follow_sessions.sql"},
    {"postgres/0108_see_gateways.sql"},
    {"postgres/0109_queue_commands.sql"},
    {"postgres/0110_watch_certificates.sql"},
    {"postgres/0111_keep_join_requests.sql"},
    {"postgres/0112_show_bound_nodes.sql"},
};

fault damaged(const std::string& what, std::string detail = {}) {
  return fail(errc::internal, "the store is damaged: " + what, {},
              std::move(detail));
}

fault too_new(std::int64_t version) {
  return fail(errc::invalid_state,
              "the store has schema " + std::to_string(version) +
                  ", this program knows up to " +
                  std::to_string(latest_postgres_schema()) +
                  "; use a newer better-compute");
}

result<std::int64_t> one_number(postgres::connection& db,
                                std::string_view sql) {
  BC_TRY(query, db.prepare(sql));
  BC_TRY(row, query.step());
  return row ? query.number(0) : 0;
}

// nullopt: there are no tables at all.
result<std::optional<std::int64_t>> version_of(postgres::connection& db) {
  BC_TRY(known, one_number(db,
                           "select count(*) from pg_class where "
                           "relnamespace = current_schema()::regnamespace "
                           "and relname = 'schema_version'"));
  if (known > 0) {
    BC_TRY(version, one_number(db,
                               "select coalesce(max(version), 0) "
                               "from schema_version"));
    return version;
  }
  BC_TRY(tables, one_number(db,
                            "select count(*) from pg_class where "
                            "relnamespace = current_schema()::regnamespace "
                            "and relkind in ('r', 'p')"));
  if (tables == 0)
    return std::nullopt;
  return damaged(
      "it has tables but no schema_version; this is not a better-compute "
      "store");
}

result<void> make_head(postgres::connection& db) {
  auto incarnation = pki::mint<incarnation_id>(system_clock{}.now());
  BC_TRY(insert,
         db.prepare("insert into head (one, position, commit_no, link, "
                    "incarnation, time_ms) values (1, 0, 0, '', ?, 0)"));
  return insert.bind(1, incarnation.str()).run();
}

result<void> migrate_by_one(postgres::connection& db, std::int64_t version) {
  if (version == 1) {
    BC_TRYV(db.execute(
        "create table schema_version (version bigint not null primary key, "
        "applied_ms bigint not null)"));
  }
  for (auto name : migrations[static_cast<std::size_t>(version - 1)]) {
    auto text = schema::text_of(name);
    if (text.empty())
      return fail(errc::internal,
                  "this program lacks its migration " + std::string{name});
    BC_TRYV(db.execute(std::string{text}));
  }
  if (version == 1) {
    BC_TRYV(make_head(db));
  }
  BC_TRY(insert, db.prepare("insert into schema_version (version, applied_ms) "
                            "values (?, store_now_ms())"));
  return insert.bind(1, version).run();
}

// Locks, then looks, so that of two migrating at once one finds the other's
// work done. True when there was something to do.
result<bool> step(postgres::connection& db) {
  BC_TRY(lock,
         db.prepare("select pg_advisory_xact_lock(hashtext('better-compute'), "
                    "hashtext(current_schema()))"));
  BC_TRYV(lock.run());
  BC_TRY(found, version_of(db));
  auto version = found.value_or(0);
  if (version > latest_postgres_schema())
    return too_new(version);
  if (version == latest_postgres_schema())
    return false;
  BC_TRYV(migrate_by_one(db, version + 1));
  return true;
}

result<bool> step_in_transaction(postgres::connection& db) {
  sql::transaction t{db};
  BC_TRYV(t.begin());
  // Servers of the program before run on, and would wait for a migration that
  // is stopped (Ctrl-Z) for ever. Its statements may take their time.
  BC_TRYV(db.execute("set local idle_in_transaction_session_timeout = '10s'"));
  BC_TRY(more, step(db));
  BC_TRYV(t.commit());
  return more;
}

result<void> check_place(postgres::connection& db) {
  BC_TRY(old, one_number(db,
                         "select current_setting('server_version_num')"
                         "::bigint < 150000"));
  if (old != 0)
    return fail(errc::invalid_config, "the store needs Postgres 15 or newer");
  BC_TRY(utf8, one_number(db,
                          "select current_setting('server_encoding') = "
                          "'UTF8'"));
  if (utf8 != 1)
    return fail(errc::invalid_config, "the database's encoding is not UTF8");
  BC_TRY(place, one_number(db, "select current_schema() is not null"));
  if (place != 1)
    return fail(errc::invalid_config,
                "the schema that the search path names does not exist");
  return ok();
}

}  // namespace

int latest_postgres_schema() {
  return static_cast<int>(migrations.size());
}

result<migration> migrate(postgres::connection& db) {
  BC_TRYV(check_place(db));
  migration done{latest_postgres_schema(), false};
  for (;;) {
    BC_TRY(more, step_in_transaction(db));
    if (!more)
      return done;
    done.rose = true;
  }
}

result<void> check_store(postgres::connection& db) {
  BC_TRYV(check_place(db));
  BC_TRY(version, version_of(db));
  if (version.value_or(0) > latest_postgres_schema())
    return too_new(*version);
  if (version.value_or(0) < latest_postgres_schema())
    return needs_migration(version.value_or(0), latest_postgres_schema());
  std::vector<std::string_view> shapes{std::begin(journal_shapes),
                                       std::end(journal_shapes)};
  shapes.push_back("select store_now_ms() limit 0");
  for (auto sql : shapes)
    if (auto shape = one_number(db, sql); !shape) {
      if (shape.error().code == errc::unavailable)
        return std::move(shape).error();
      return damaged("its tables are not those of its schema",
                     shape.error().detail);
    }
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
  return ok();
}

}  // namespace bc::events::detail

namespace bc::events {

result<migration> migrate_postgres(const std::string& url) {
  BC_TRY(db, postgres::connection::open(url, postgres::patience::endless));
  return detail::migrate(*db);
}

}  // namespace bc::events
