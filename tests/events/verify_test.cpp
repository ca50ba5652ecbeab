// DESIGN section 4: `journal verify` names the first row that is altered,
// missing, inserted or out of order, a lost claim, a wrong budget, a bad
// snapshot, a forged checkpoint, and a tail rewritten with its checkpoints.
#include "events/journal_judge.hpp"
#include "events/sqlite_ledger.hpp"
#include "tests/support/tampering.hpp"

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

struct sample_store : sqlite_store {
  sample_store() { signed_head = fill_signed_sample(*this); }
  void tamper(const std::string& script) const {
    auto raw = sqlite::connection::open(path, sqlite::mode::read_write);
    REQUIRE(raw);
    auto done = raw.value()->execute(script);
    if (!done)
      FAIL(done.error().message << " " << done.error().detail);
  }
  checkpoint signed_head;
};

// Whoever can write to the store and knows this program: takes every row after
// this one away and writes another commit in their place, with its hashes and
// its link.
void rewrite_after(sample_store& s, std::uint64_t row,
                   const std::string& more = "") {
  s.close();
  auto db = sqlite::connection::open(s.path, sqlite::mode::read_write);
  REQUIRE(db);
  {
    events::detail::sqlite_ledger tables{*db.value()};
    auto event = tables.events_after(row - 1, 1);
    REQUIRE(event);
    auto kept = tables.commits_after(event.value().front().commit - 1, 1);
    REQUIRE(kept);
    REQUIRE(kept.value().size() == 1);
    REQUIRE(kept.value().front().last == row);
    auto after = std::to_string(row);
    REQUIRE(db.value()->execute("delete from events where position > " + after +
                                "; delete from batches where last_position > " +
                                after +
                                "; delete from commits where last_position > " +
                                after + "; delete from snapshots;" + more));
    auto head = tables.head().value();
    head.row.position = row;
    head.row.commit = kept.value().front().commit;
    head.row.link = kept.value().front().link;
    REQUIRE(tables.set_head(head));
    std::vector<batch> group{sample_adoption(3, s.time.now())};
    REQUIRE(events::detail::append_group(tables, group, s.time.now()));
  }
  db.value().reset();
  s.open();
}

}  // namespace

TEST_CASE("verify: names what is wrong with rows, claims, budgets, snapshots",
          "[verify]") {
  auto r = GENERATE(from_range(row_tamperings()));
  sample_store s;
  s.tamper(r.script);
  INFO(r.script);
  CHECK_THAT(broken(*s.store), Catch::Contains(r.found));
}

// SQLite keeps any value in any column: what is stored as a blob reads the
// same, and no query by stream or key finds it.
TEST_CASE("verify: names a value hidden from queries as a blob", "[verify]") {
  auto r = GENERATE(table<std::string, std::string>(
      {{"update events set stream = cast(stream as blob) where position = 11",
        "row 11 holds a value of another type"},
       {"update events set data = cast(data as blob) where position = 3",
        "row 3 holds a value of another type"},
       {"update events set time_ms = time_ms + 0.5 where position = 5",
        "row 5 holds a value of another type"},
       {"update claims set claim = cast(claim as blob) "
        "where claim like 'hw:%1'",
        "holds a value of another type"},
       {"update budgets set budget = cast(budget as blob)",
        "holds a value of another type"},
       {"insert into snapshots select cast(stream as blob), version, "
        "fold_version, state from snapshots; "
        "update snapshots set state = replace(state, '13', '16') "
        "where typeof(stream) = 'text'",
        "the snapshot of "}}));
  sample_store s;
  s.tamper(std::get<0>(r));
  INFO(std::get<0>(r));
  CHECK_THAT(broken(*s.store), Catch::Contains(std::get<1>(r)));
}

TEST_CASE("verify: a snapshot of another fold version is no fault",
          "[verify]") {
  sample_store s;
  s.tamper("update snapshots set fold_version = 99, state = 'x'");
  check_whole(*s.store);
}

TEST_CASE("verify: names a checkpoint that was forged or altered", "[verify]") {
  auto r = GENERATE(from_range(checkpoint_tamperings()));
  sample_store s;
  s.tamper(r.script);
  INFO(r.script);
  CHECK_THAT(broken(*s.store), Catch::Contains(r.found));
}

TEST_CASE("verify: the incarnation of the head is held to the checkpoints",
          "[verify]") {
  sample_store s;
  auto other = numbered_id<incarnation_id>(77).str();
  s.tamper("update head set incarnation = '" + other + "'");
  CHECK_THAT(broken(*s.store),
             Catch::Contains("the head is of incarnation " + other));
}

TEST_CASE("verify: a tail rewritten under its checkpoint is found",
          "[verify]") {
  sample_store s;
  rewrite_after(s, 12, "update budgets set closed = 0");
  CHECK_THAT(broken(*s.store),
             Catch::Contains("row 1 or one after it, up to row 13, was "
                             "rewritten"));
}

TEST_CASE(
    "verify: a tail rewritten together with its checkpoints is found by "
    "one from outside",
    "[verify]") {
  sample_store s;
  won(append(*s.store, sample_adoption(2, s.store->now())));
  auto outside = add_sample_checkpoint(*s.store);
  won(append(*s.store, sample_adoption(2, s.store->now())));
  check_whole(*s.store, {outside, s.signed_head});
  SECTION("what came after it rewritten: it still holds") {
    rewrite_after(s, 14);
    check_whole(*s.store, {outside});
  }
  SECTION("the commit it stands for rewritten") {
    rewrite_after(s, 13);
    s.tamper("delete from checkpoints where position > 13");
    check_whole(*s.store);
    CHECK_THAT(broken(*s.store, {outside}),
               Catch::Contains("row 14 or one after it, up to row 14, was "
                               "rewritten, or the checkpoint from outside"));
  }
  SECTION("one that nobody signed says nothing") {
    auto forged = outside;
    forged.link[0] = forged.link[0] == 'a' ? 'b' : 'a';
    CHECK_THAT(broken(*s.store, {forged}),
               Catch::Contains("the checkpoint from outside at row 14 is not "
                               "signed by the journal's key"));
  }
}

TEST_CASE("verify: rows cut off the end are missing to an outside checkpoint",
          "[verify]") {
  sample_store s;
  won(append(*s.store, sample_adoption(2, s.store->now())));
  auto outside = add_sample_checkpoint(*s.store);
  // A restore from a backup looks like this.
  sample_store older;
  auto why = broken(*older.store, {outside});
  CHECK_THAT(why, Catch::Contains("row 14 is missing"));
}

TEST_CASE("verify: without effects, folds and key it checks the rows alone",
          "[verify]") {
  sample_store s;
  s.tamper("delete from claims; delete from snapshots; delete from budgets");
  CHECK(s->verify({}));
  s.tamper("update events set actor = 'x' where position = 3");
  CHECK_THAT(s->verify({}).error().message, Catch::Contains("row 3"));
}

// Commits, batches and rows are each read in pages; a batch lies across the end
// of a page of rows.
TEST_CASE("verify: holds over more than a page", "[verify]") {
  sqlite_store s;
  for (int i = 0; i < 1010; ++i)
    append(*s.store, make_batch({on("n:1", {event(), event(), event()})}));
  check_verifies(*s.store);
  auto r = GENERATE(table<std::string, std::string>(
      {{"delete from commits where commit_no = 1000",
        "commit 1000 (rows 2998 to 3000) is missing"},
       {"delete from commits where commit_no = 1001",
        "commit 1001 (rows 3001 to 3003) is missing"},
       {"update commits set link = 'x' where commit_no = 1010",
        "commit 1010 (rows 3028 to 3030) is altered"},
       {"update batches set last_position = 1001 where first_position = 1000",
        "row 1000 does not match its batch"},
       {"delete from batches where first_position = 3028",
        "row 3028 does not match its batch"}}));
  auto raw = sqlite::connection::open(s.path, sqlite::mode::read_write);
  REQUIRE(raw);
  REQUIRE(raw.value()->execute(std::get<0>(r)));
  auto done = s->verify({});
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message, Catch::Contains(std::get<1>(r)));
}
