// DESIGN section 4: `journal verify` on Postgres names what was tampered with,
// as it does on SQLite (tests/events/verify_test.cpp).
#include "tests/support/postgres_store.hpp"
#include "tests/support/tampering.hpp"

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

struct sample_store : postgres_store {
  checkpoint signed_head = fill_signed_sample(*this);

  void tamper(const std::string& script) const {
    auto done = bc::testing::connect(schema.url())->execute(script);
    if (!done)
      FAIL(done.error().message << " " << done.error().detail);
  }
};

}  // namespace

TEST_CASE(
    "postgres verify: names what is wrong with rows, claims, budgets, "
    "snapshots") {
  auto r = GENERATE(from_range(row_tamperings()));
  sample_store s;
  s.tamper(r.script);
  INFO(r.script);
  CHECK_THAT(broken(*s.store), Catch::Contains(r.found));
}

TEST_CASE("postgres verify: names a checkpoint that was forged or altered") {
  auto r = GENERATE(from_range(checkpoint_tamperings()));
  sample_store s;
  s.tamper(r.script);
  INFO(r.script);
  CHECK_THAT(broken(*s.store), Catch::Contains(r.found));
}

TEST_CASE("postgres verify: the head's incarnation is held to checkpoints") {
  sample_store s;
  auto other = numbered_id<incarnation_id>(77).str();
  s.tamper("update head set incarnation = '" + other + "'");
  CHECK_THAT(broken(*s.store),
             Catch::Contains("the head is of incarnation " + other));
}

TEST_CASE(
    "postgres verify: rows cut off the end are missing to an outside "
    "checkpoint") {
  sample_store s;
  won(append(*s.store, sample_adoption(2, s->now())));
  auto outside = add_sample_checkpoint(*s.store);
  check_whole(*s.store, {outside, s.signed_head});
  sample_store older;
  CHECK_THAT(broken(*older.store, {outside}),
             Catch::Contains("row 14 is missing"));
}

TEST_CASE("postgres verify: asks by the page, not for each commit and batch") {
  postgres_store s;
  for (int i = 0; i < 60; ++i)
    append(*s.store, {one("n:1"), one("n:2")});
  auto before = postgres::round_trips();
  check_verifies(*s.store);
  CHECK(postgres::round_trips() - before < 30);
}
