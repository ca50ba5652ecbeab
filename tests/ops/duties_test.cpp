// What the background duties tell of themselves.
#include "ops/serve/duties.hpp"

#include "events/sqlite.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

using namespace bc;

TEST_CASE("duties: parked streams are counted, on SQLite too", "[ops]") {
  temporary_folder dir;
  bc::system_clock time;
  store::location where{store::kind::sqlite, dir / "journal.db"};
  REQUIRE(store::migrate(where, time));
  auto opened = store::open(where, time);
  REQUIRE(opened);
  auto running = serve::duties::start({&opened.value(), nullptr, {}});
  REQUIRE(running);
  auto parked = [&] {
    serve::health h;
    running.value()->look(h);
    CHECK(h.store_problem.empty());
    return h.parked_streams;
  };
  auto run = [&](const char* script) {
    auto db = sqlite::connection::open(where.target, sqlite::mode::read_write);
    REQUIRE(db);
    REQUIRE(db.value()->execute(script));
  };
  CHECK(parked() == 0);
  run("insert into parked_streams (stream, position, reason)"
      " values ('node:x', 2, 'of an unknown type')");
  CHECK(parked() == 1);
  run("delete from parked_streams");
  CHECK(parked() == 0);
  running.value()->stop();
}
