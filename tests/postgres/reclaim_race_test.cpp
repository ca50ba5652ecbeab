// Case 72 on Postgres: two processes, each with a connection of its own, have
// nothing in common but the store.
#include "tests/actors/reclaim_rounds.hpp"
#include "tests/support/postgres_store.hpp"

namespace bc::test {

TEST_CASE(
    "two processes: 100 rounds of two reclaims at once on Postgres "
    "(case 72)",
    "[postgres][actors]") {
  using events::testing::migrated_schema;
  migrated_schema schema;
  events::testing::postgres_clock time{schema.url(), start_of_time};
  two_processes t{
      [&](const clock&) { return events::testing::open_store(schema.url()); }};
  race_reclaims(
      t,
      [&](seconds by) {
        t.w.time.advance(by);
        time.advance(by);
      },
      100);
}

}  // namespace bc::test
