// DESIGN section 5: `migrate` makes read models that an older program wrote
// anew, also where an earlier one was cut off.
#include "ops/store/store.hpp"
#include "tests/support/journal_suite.hpp"
#include "tests/support/postgres.hpp"

using namespace bc;
using namespace bc::testing;

TEST_CASE("store: migrate makes older read models anew, on Postgres",
          "[store]") {
  postgres_schema schema;
  system_clock time;
  auto where = store::parse_url(schema.url()).value();
  REQUIRE(store::migrate(where, time));
  {
    auto opened = store::open(where, time);
    REQUIRE(opened);
    events::testing::won(events::testing::append(*opened.value().journal,
                                                 events::testing::one("a:1")));
  }
  // A row that no event of the journal makes.
  const std::string old =
      "insert into tenants values ('ten_x', 'old', 0, 0);"
      "update projection_checkpoint set position = 1;";
  auto rows = [&] { return ask(schema.url(), "select count(*) from tenants"); };
  SECTION("its schema rose") {
    run_script(schema.url(), old +
                                 "alter table nodes drop column ek_hash,"
                                 " drop column changed_identifiers;"
                                 "alter table join_requests"
                                 " drop column joined_as,"
                                 " drop column superseded_at;"
                                 "delete from schema_version where version = "
                                 "(select max(version) from schema_version)");
    auto why = store::open(where, time).error();
    CHECK(why.code == errc::invalid_state);
  }
  SECTION("its schema did not") {
    run_script(schema.url(), old);
    auto why = store::open(where, time).error();
    CHECK(why.code == errc::invalid_state);
    CHECK_THAT(why.message,
               Catch::Contains("read models are of version 0") &&
                   Catch::Contains("better-compute migrate --store "
                                   "postgres://"));
  }
  CHECK(rows() == "1");
  REQUIRE(store::migrate(where, time));
  CHECK(rows() == "0");
  CHECK(store::open(where, time));
}
