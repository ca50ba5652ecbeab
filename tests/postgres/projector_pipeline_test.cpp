// Many writes in one round trip (events/sql.hpp: begin_pipeline).
#include "tests/support/postgres.hpp"

#include <thread>

using namespace bc;
using namespace bc::testing;

namespace {

result<void> set(sql::connection& db, std::int64_t key, std::int64_t value,
                 std::int64_t expected) {
  BC_TRY(s, db.prepare("update t set v = ? where k = ?"));
  BC_TRYV(s.bind(1, value).bind(2, key).run());
  return db.expect_changes(expected);
}

std::unique_ptr<postgres::connection> filled(const postgres_schema& schema) {
  auto db = connect(schema.url());
  REQUIRE(
      db->execute("create table t (k bigint primary key, v bigint check "
                  "(v < 100)); insert into t select i, 0 from "
                  "generate_series(1, 50) i"));
  return db;
}

}  // namespace

TEST_CASE("postgres: a pipeline runs in order, in one round trip",
          "[postgres]") {
  postgres_schema schema;
  auto db = filled(schema);
  auto before = postgres::round_trips();
  db->begin_pipeline();
  for (std::int64_t i = 0; i < 2000; ++i)
    REQUIRE(set(*db, 1 + i % 50, i % 90, 1));
  REQUIRE(db->flush());
  CHECK(postgres::round_trips() == before + 1);
  // The last of each key stands: i = 1950 + k - 1.
  CHECK(ask(schema.url(), "select v from t where k = 7") ==
        std::to_string((1950 + 6) % 90));
  CHECK(db->flush());  // nothing to wait for
  CHECK(set(*db, 1, 5, 1));
  CHECK(!set(*db, 99, 5, 1));
}

TEST_CASE("postgres: a pipeline's flush tells what did not fit", "[postgres]") {
  postgres_schema schema;
  auto db = filled(schema);
  std::int64_t key = GENERATE(3, 99);
  std::int64_t value = key == 3 ? 100 : 1;  // refused, or of no row
  REQUIRE(db->execute("begin"));
  db->begin_pipeline();
  REQUIRE(set(*db, 1, 1, 1));
  REQUIRE(set(*db, key, value, 1));
  REQUIRE(set(*db, 2, 1, 1));
  auto done = db->flush();
  REQUIRE(!done);
  CHECK(done.error().code == errc::internal);
  CHECK(db->is_alive());
  CHECK(db->in_transaction());
  REQUIRE(db->execute("rollback"));
  CHECK(ask(schema.url(), "select sum(v)::bigint from t") == "0");
}

TEST_CASE("postgres: what a pipeline cannot send, its flush tells",
          "[postgres]") {
  postgres_schema schema;
  auto db = filled(schema);
  REQUIRE(db->execute("create table texts (t text); begin"));
  db->begin_pipeline();
  REQUIRE(set(*db, 1, 1, 1));
  {
    auto s = db->prepare("insert into texts values (?)");
    REQUIRE(s.value().bind(1, std::string(1, '\0')).run());
  }
  REQUIRE(set(*db, 2, 1, 1));
  auto done = db->flush();
  REQUIRE(!done);
  CHECK(done.error().code == errc::internal);
  CHECK(db->is_alive());
  REQUIRE(db->execute("rollback"));
  CHECK(ask(schema.url(), "select sum(v)::bigint from t") == "0");
  CHECK(set(*db, 1, 5, 1));
}

// Nobody reads the answers before the flush: neither side may wait for ever.
TEST_CASE("postgres: a pipeline larger than every buffer on its way",
          "[postgres]") {
  postgres_schema schema;
  auto db = filled(schema);
  REQUIRE(db->execute("create table texts (t text)"));
  db->begin_pipeline();
  const std::string text(100'000, 'x');
  for (int i = 0; i < 200; ++i) {
    auto s = db->prepare("insert into texts values (?) returning t");
    REQUIRE(s.value().bind(1, text).run());
  }
  REQUIRE(db->flush());
  CHECK(ask(schema.url(), "select count(*) from texts") == "200");
}

TEST_CASE("postgres: a pipeline on a lost connection", "[postgres]") {
  postgres_schema schema;
  auto db = filled(schema);
  db->abandon();
  db->begin_pipeline();
  auto done = [&]() -> result<void> {
    BC_TRYV(set(*db, 1, 1, 1));
    return db->flush();
  }();
  REQUIRE(!done);
  CHECK(done.error().code == errc::unavailable);
}

TEST_CASE("postgres: a pipeline whose connection is given up", "[postgres]") {
  postgres_schema schema;
  auto db = filled(schema);
  db->begin_pipeline();
  REQUIRE(set(*db, 1, 1, 1));
  db->abandon();
  auto done = db->flush();
  REQUIRE(!done);
  CHECK(done.error().code == errc::unavailable);
}

TEST_CASE("postgres: nothing else runs before a pipeline's flush",
          "[postgres]") {
  postgres_schema schema;
  auto db = filled(schema);
  db->begin_pipeline();
  REQUIRE(set(*db, 1, 1, 1));
  CHECK(db->execute("select 1").error().code == errc::internal);
  postgres::call call{"select 1", {}};
  CHECK(db->run({&call, 1}).error().code == errc::internal);
  REQUIRE(set(*db, 2, 1, 1));
  REQUIRE(db->flush());
  CHECK(db->execute("select 1"));
  CHECK(ask(schema.url(), "select sum(v)::bigint from t") == "2");
}

TEST_CASE("postgres: a pipeline's time begins with its flush", "[postgres]") {
  postgres_schema schema;
  auto db = filled(schema);
  db->allow_silence(postgres::usual_silence, milliseconds{2'000});
  db->begin_pipeline();
  REQUIRE(set(*db, 1, 1, 1));
  std::this_thread::sleep_for(milliseconds{2'100});
  REQUIRE(set(*db, 2, 1, 1));
  CHECK(db->flush());
}
