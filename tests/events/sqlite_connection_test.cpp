// The SQL connection layer.
#include "events/sql_transaction.hpp"
#include "tests/support/journal_suite.hpp"

#include <filesystem>

using namespace bc;
using namespace bc::events::testing;

namespace {

std::unique_ptr<sqlite::connection> fresh(const temp_dir& dir) {
  auto db =
      sqlite::connection::open(dir.file("x.db"), sqlite::mode::read_write);
  REQUIRE(db);
  REQUIRE(
      db.value()->execute("create table t (a integer primary key, b text)"));
  return std::move(db).value();
}

}  // namespace

TEST_CASE("sqlite: values go in and come out as they were", "[sqlite]") {
  temp_dir dir;
  auto db = fresh(dir);
  std::string odd{"a\0b", 3};
  {
    auto insert = db->prepare("insert into t values (?, ?)").value();
    REQUIRE(insert.bind(1, std::int64_t{1}).bind(2, odd).run());
  }
  {
    auto insert = db->prepare("insert into t values (?, ?)").value();
    REQUIRE(insert.bind(1, std::int64_t{2}).run());  // nothing of the last use
  }
  CHECK(db->changes() == 1);
  auto query = db->prepare("select b from t order by a").value();
  REQUIRE(query.step().value());
  CHECK(query.text(0) == odd);
  REQUIRE(query.step().value());
  CHECK(query.is_null(0));
  CHECK(query.text(0).empty());
  CHECK_FALSE(query.step().value());
}

TEST_CASE("sqlite: one statement may be used inside its own use", "[sqlite]") {
  temp_dir dir;
  auto db = fresh(dir);
  REQUIRE(db->execute("insert into t values (1, 'x'), (2, 'y'), (3, 'z')"));
  int pairs = 0;
  auto outer = db->prepare("select a from t").value();
  while (outer.step().value()) {
    auto inner = db->prepare("select a from t").value();
    while (inner.step().value())
      ++pairs;
  }
  CHECK(pairs == 9);
}

TEST_CASE("sqlite: the text of a statement need not outlive its use",
          "[sqlite]") {
  temp_dir dir;
  auto db = fresh(dir);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 50; ++i) {
      auto n = std::to_string(i);
      auto query = db->prepare("select '" + n + " of so many'").value();
      REQUIRE(query.step().value());
      CHECK(query.text(0) == n + " of so many");
    }
}

TEST_CASE("sqlite: faults tell the machine from the data", "[sqlite]") {
  temp_dir dir;
  auto db = fresh(dir);
  CHECK(db->prepare("select nothing from nowhere").error().code ==
        errc::internal);
  CHECK(db->prepare("select nothing from nowhere").error().code ==
        errc::internal);
  REQUIRE(db->execute("insert into t values (1, 'x')"));
  CHECK(db->execute("insert into t values (1, 'x')").error().code ==
        errc::internal);
  // A full database.
  REQUIRE(db->execute("pragma max_page_count = 5"));
  auto full = db->execute("insert into t values (2, zeroblob(100000))");
  REQUIRE_FALSE(full);
  CHECK(full.error().code == errc::unavailable);
  CHECK_THAT(full.error().message, Catch::Contains("full"));
  // A reader cannot write.
  auto reader =
      sqlite::connection::open(dir.file("x.db"), sqlite::mode::read_only)
          .value();
  CHECK_FALSE(reader->execute("insert into t values (9, 'x')"));
  CHECK(sqlite::connection::open(dir.file("no.db"), sqlite::mode::read_only)
            .error()
            .code == errc::invalid_config);
}

TEST_CASE("sqlite: a writer has its log and waits for the disk", "[sqlite]") {
  temp_dir dir;
  auto db = fresh(dir);
  auto setting = [&](std::string_view pragma) {
    auto query = db->prepare(pragma).value();
    REQUIRE(query.step().value());
    return query.text(0);
  };
  CHECK(setting("pragma journal_mode") == "wal");
  CHECK(setting("pragma synchronous") == "2");
}

TEST_CASE("sqlite: a place that cannot have the log is refused", "[sqlite]") {
  temp_dir dir;
  auto before = std::filesystem::current_path();
  std::filesystem::current_path(
      std::filesystem::path{dir.file("x")}.parent_path());
  // SQLite keeps this one in memory, whatever stands on the disk.
  auto db = sqlite::connection::open(":memory:", sqlite::mode::read_write);
  std::filesystem::current_path(before);
  REQUIRE_FALSE(db);
  CHECK(db.error().code == errc::invalid_config);
}

TEST_CASE("sqlite: a transaction without a commit leaves nothing", "[sqlite]") {
  temp_dir dir;
  auto db = fresh(dir);
  auto count = [&] {
    auto query = db->prepare("select count(*) from t").value();
    REQUIRE(query.step().value());
    return query.number(0);
  };
  {
    sql::transaction t{*db};
    REQUIRE(t.begin());
    auto other =
        sqlite::connection::open(dir.file("x.db"), sqlite::mode::read_only)
            .value();
    REQUIRE(db->execute("insert into t values (1, 'x')"));
    CHECK(count() == 1);
    sql::transaction reading{*other};
    REQUIRE(reading.begin_reading());
    auto query = other->prepare("select count(*) from t").value();
    REQUIRE(query.step().value());
    CHECK(query.number(0) == 0);
  }
  CHECK_FALSE(db->in_transaction());
  CHECK(count() == 0);
  // What a rollback that failed left open.
  REQUIRE(db->execute("begin; insert into t values (1, 'x')"));
  sql::transaction t{*db};
  REQUIRE(t.begin());
  REQUIRE(db->execute("insert into t values (2, 'y')"));
  REQUIRE(t.commit());
  CHECK_FALSE(db->in_transaction());
  CHECK(count() == 1);
}
