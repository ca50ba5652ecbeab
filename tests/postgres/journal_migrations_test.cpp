// DESIGN section 4: the store's schema on Postgres.
#include "tests/support/journal_suite.hpp"
#include "tests/support/postgres_store.hpp"

#include <thread>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;
using namespace bc::testing;

TEST_CASE("postgres journal: a store that is not migrated is INVALID_STATE",
          "[postgres][journal]") {
  postgres_schema schema;
  auto opened = open_postgres_journal(schema.url());
  REQUIRE(!opened);
  CHECK(opened.error().code == errc::invalid_state);
  migrate(schema.url());
  CHECK(open_postgres_journal(schema.url()));
}

TEST_CASE("postgres journal: migrating again changes nothing",
          "[postgres][journal]") {
  postgres_schema schema;
  migrate(schema.url());
  auto incarnation = ask(schema.url(), "select incarnation from head");
  CHECK(incarnation.starts_with("inc_"));
  migrate(schema.url());
  CHECK(ask(schema.url(), "select incarnation from head") == incarnation);
}

TEST_CASE("postgres journal: of two migrating at once one does the work",
          "[postgres][journal]") {
  postgres_schema schema;
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int i = 0; i < 6; ++i)
    threads.emplace_back(
        [&] { done += migrate_postgres(schema.url()) ? 1 : 0; });
  for (auto& t : threads)
    t.join();
  CHECK(done == 6);
  CHECK(ask(schema.url(), "select count(*) from head") == "1");
  CHECK(ask(schema.url(),
            "select count(*) = max(version) from schema_version") == "t");
  auto store = open_store(schema.url());
  won(append(*store, one("a:1")));
}

TEST_CASE("postgres journal: a newer schema is refused, by migrate too",
          "[postgres][journal]") {
  migrated_schema schema;
  run_script(schema.url(), "insert into schema_version values (999, 0)");
  auto opened = open_postgres_journal(schema.url());
  REQUIRE(!opened);
  CHECK(opened.error().code == errc::invalid_state);
  CHECK_THAT(opened.error().message, Catch::Contains("999"));
  auto migrated = migrate_postgres(schema.url());
  REQUIRE(!migrated);
  CHECK(migrated.error().code == errc::invalid_state);
}

TEST_CASE("postgres journal: another's tables are INTERNAL and left alone",
          "[postgres][journal]") {
  postgres_schema schema;
  run_script(schema.url(), "create table theirs (x bigint)");
  CHECK(migrate_postgres(schema.url()).error().code == errc::internal);
  CHECK(open_postgres_journal(schema.url()).error().code == errc::internal);
  CHECK(ask(schema.url(),
            "select count(*) from pg_class where relnamespace = "
            "current_schema()::regnamespace and relkind = 'r'") == "1");
}

TEST_CASE("postgres journal: a migration that fails leaves nothing behind",
          "[postgres][journal]") {
  postgres_schema schema;
  // A function of the same name: the first migration cannot make its own.
  run_script(schema.url(),
             "create function store_now_ms() returns bigint language sql as "
             "'select 1::bigint'");
  CHECK(migrate_postgres(schema.url()).error().code == errc::internal);
  CHECK(ask(schema.url(),
            "select count(*) from pg_class where relnamespace = "
            "current_schema()::regnamespace") == "0");
  run_script(schema.url(), "drop function store_now_ms()");
  migrate(schema.url());
}

TEST_CASE("postgres journal: a damaged store is not opened",
          "[postgres][journal]") {
  migrated_schema schema;
  {
    auto store = open_store(schema.url());
    won(append(*store, one("a:1")));
  }
  auto damage = GENERATE(as<std::string>{}, "delete from head",
                         "update head set position = 7", "delete from events",
                         "drop table claims",
                         "alter table budgets rename closed to shut");
  CAPTURE(damage);
  run_script(schema.url(), damage);
  auto opened = open_postgres_journal(schema.url());
  REQUIRE(!opened);
  CHECK(opened.error().code == errc::internal);
}

TEST_CASE("postgres journal: a search path without a schema is INVALID_CONFIG",
          "[postgres][journal]") {
  auto url = with_schema(shared_postgres_url(), "no_such_schema");
  CHECK(migrate_postgres(url).error().code == errc::invalid_config);
  CHECK(open_postgres_journal(url).error().code == errc::invalid_config);
}
