// DESIGN section 4: a store by one URL; `migrate` and `dev` alone migrate.
#include "ops/store/store.hpp"

#include "tests/support/journal_suite.hpp"

#include <filesystem>

using namespace bc;
using events::testing::temp_dir;
using store::kind;
using store::parse_url;
using store::shown;

TEST_CASE("store: one URL names the kind and the place", "[store]") {
  struct row {
    const char* url;
    kind what;
    const char* target;
  };
  auto r = GENERATE(
      row{"sqlite:journal.db", kind::sqlite, "journal.db"},
      row{"sqlite:/var/lib/x.db", kind::sqlite, "/var/lib/x.db"},
      row{"sqlite:///var/x.db", kind::sqlite, "/var/x.db"},
      row{"postgres://u@h:5432/d", kind::postgres, "postgres://u@h:5432/d"},
      row{"postgresql://h/d", kind::postgres, "postgresql://h/d"});
  auto where = parse_url(r.url);
  REQUIRE(where);
  CHECK(where.value().what == r.what);
  CHECK(where.value().target == r.target);
}

TEST_CASE("store: any other URL is INVALID_INPUT and not repeated", "[store]") {
  auto url = GENERATE(as<std::string>{}, "", "journal.db",
                      "sqlite:", "sqlite://", "sqlite://host/x",
                      "mysql://u:pw@h/d", "postgres:", "postgres://",
                      "Postgres://u:pw@h/d", "file:x", " sqlite:x");
  auto where = parse_url(url);
  REQUIRE_FALSE(where);
  CHECK(where.error().code == errc::invalid_input);
  CHECK_THAT(where.error().message, !Catch::Contains("pw"));
}

TEST_CASE("store: what is shown of a URL holds no password", "[store]") {
  struct row {
    const char* url;
    const char* text;
  };
  auto r = GENERATE(
      row{"sqlite:/a/b.db", "sqlite:/a/b.db"},
      row{"postgres://u:pw@h:5432/d", "postgres://u:***@h:5432/d"},
      row{"postgres://u@h/d", "postgres://u@h/d"},
      row{"postgres://h/d?password=pw&sslmode=require",
          "postgres://h/d?sslmode=require"},
      row{"postgres://h/d?%70assword=pw", "postgres://h/d"},
      row{"postgres://u:p@pw@h/d", "postgres://u:***@h/d"},
      row{"postgres://u:p/pw@h/d", "postgres://u:***@h/d"},
      row{"postgres://u:p?pw@h/d", "postgres://u:***@h/d"},
      row{"postgres://u@/d?host=/run/pg", "postgres://u@/d?host=/run/pg"});
  auto where = parse_url(r.url);
  REQUIRE(where);
  CHECK(shown(where.value()) == r.text);
}

TEST_CASE("store: a store that was never made is not made by opening it",
          "[store]") {
  temp_dir folder;
  system_clock time;
  auto where = parse_url("sqlite:" + folder.file("journal.db")).value();
  for (bool reading : {false, true}) {
    auto why = reading ? store::open_reader(where, time).error()
                       : store::open(where, time).error();
    CHECK(why.code == errc::invalid_state);
    CHECK_THAT(why.message, Catch::Contains("better-compute migrate --store "
                                            "sqlite:" +
                                            folder.file("journal.db")));
  }
  CHECK(std::filesystem::is_empty(folder.file("")));
  auto version = store::migrate(where, time);
  REQUIRE(version);
  CHECK(version.value() >= 2);
  CHECK(store::migrate(where, time).value() == version.value());
  auto opened = store::open(where, time);
  REQUIRE(opened);
  CHECK(opened.value().journal->head().value().position == 0);
  CHECK(opened.value().queries->list_tenants("", 10).value().items.empty());
}

TEST_CASE("store: an older schema is refused and a newer one too", "[store]") {
  temp_dir folder;
  system_clock time;
  auto path = folder.file("journal.db");
  auto where = parse_url("sqlite:" + path).value();
  REQUIRE(store::migrate(where, time));
  struct row {
    const char* script;
    bool mended_by_migrate;
  };
  // Without the newest migration, whose table goes with it.
  auto r = GENERATE(row{"delete from schema_version where version = "
                        "(select max(version) from schema_version);"
                        "drop table refused_joins",
                        true},
                    row{"insert into schema_version values (900, 1)", false});
  {
    auto db = sqlite::connection::open(path, sqlite::mode::read_write);
    REQUIRE(db);
    REQUIRE(db.value()->execute(r.script));
  }
  auto why = store::open(where, time).error();
  CHECK(why.code == errc::invalid_state);
  bool advised =
      why.message.find("better-compute migrate") != std::string::npos;
  CHECK(advised == r.mended_by_migrate);
  CHECK(store::open_reader(where, time).error().code == errc::invalid_state);
  CHECK(static_cast<bool>(store::migrate(where, time)) == r.mended_by_migrate);
}

TEST_CASE("store: reading needs no lock and writes nothing", "[store]") {
  temp_dir folder;
  system_clock time;
  auto where = parse_url("sqlite:" + folder.file("journal.db")).value();
  REQUIRE(store::migrate(where, time));
  auto server = store::open(where, time);
  REQUIRE(server);
  auto why = store::open(where, time).error();
  CHECK(why.code == errc::invalid_state);
  CHECK_THAT(why.message,
             Catch::Contains("in use") && !Catch::Contains("migrate"));
  auto reader = store::open_reader(where, time);
  REQUIRE(reader);
  auto& journal = *reader.value();
  CHECK(journal.head());
  CHECK(journal.verify({}));
  CHECK(journal.append({}).error().code == errc::invalid_state);
  CHECK(journal.acquire_lease("x", seconds{5}).error().code ==
        errc::invalid_state);
  CHECK(server.value().journal->acquire_lease("server", seconds{5}).value());
}
