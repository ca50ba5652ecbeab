// DESIGN section 4: a damaged store is a clear error; verify names the row.
#include "tests/support/journal_suite.hpp"

#include <fstream>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

void tamper(const std::string& path, const std::string& script) {
  auto raw = sqlite::connection::open(path, sqlite::mode::read_write);
  REQUIRE(raw);
  auto done = raw.value()->execute(script);
  if (!done)
    FAIL(done.error().message);
}

fault open_fails(const std::string& path) {
  manual_clock time{start};
  auto opened = open_sqlite_journal(path, time, nullptr);
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().message, Catch::Contains(path));
  return opened.error();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << text;
}

std::string read_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// Three commits: rows 1 and 2, row 3, rows 4 to 6.
void fill(sqlite_store& s) {
  append(*s.store, {one("t:1", budgeting(open_budget("jt", 5))),
                    one("n:1", claiming(take("hw:1")))});
  append(*s.store, one("n:2", budgeting(spend("jt"))));
  append(*s.store, {make_batch({on("n:1", {event(), event()})}), one("n:2")});
}

std::string verify_fails(journal& j) {
  auto done = j.verify({moves_in});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::internal);
  return done.error().message;
}

}  // namespace

TEST_CASE("sqlite store: verify finds what was tampered with", "[sqlite]") {
  struct row {
    const char* script;
    const char* found;
  };
  auto r = GENERATE(
      row{"update events set data = '{\"x\":1}' where position = 3",
          "row 3 is altered"},
      row{"update events set internal = '{}' where position = 4",
          "row 4 is altered"},
      row{"update events set actor = 'x' where position = 1",
          "row 1 is altered"},
      row{"delete from events where position = 3", "row 3 is missing"},
      row{"delete from events where position = 6", "row 6 is missing"},
      row{"delete from events", "row 1 is missing"},
      row{"update events set position = -1 where position = 4;"
          "update events set position = 4 where position = 5;"
          "update events set position = 5 where position = -1",
          "row 4 is altered"},
      row{"insert into events select 7, 3, stream, 9, type, type_version, "
          "tenant, time_ms, actor, correlation, data, internal, hash, batch "
          "from events where position = 6",
          "row 7 is altered"},
      row{"update commits set link = 'x' where commit_no = 2",
          "commit 2 (rows 3 to 3) is altered"},
      row{"delete from commits where commit_no = 2", "commit 2 (rows 3 to 3)"},
      row{"insert into commits values (9, 9, 'x')", "there are 4 commits"},
      row{"update commits set last_position = 5 where commit_no = 3",
          "commit 3 (rows 4 to 6) should end at row 5"},
      row{"update head set link = 'x'", "the head row is altered"},
      row{"update head set position = 5", "row 6 was inserted"},
      row{"update head set position = 7", "row 7 is missing"},
      row{"update batches set last_position = 4 where first_position = 4",
          "row 4 does not match its batch"},
      row{"insert into batches values ('bat_x', 1, 1, 1)",
          "there are 6 batches"},
      row{"update claims set stream = 'n:2'", "claim hw:1 is not as row 2"},
      row{"delete from claims", "claim hw:1 is not as row 2"},
      row{"insert into claims values ('hw:9', 'n:1', 2, null)",
          "claim hw:9 follows from no row"},
      row{"update budgets set amount_left = 5", "budget jt is not as"},
      row{"insert into budgets values ('other', 1, 0)",
          "budget other follows from no row"});
  sqlite_store s;
  fill(s);
  check_verifies(*s.store);
  tamper(s.path, r.script);
  CHECK_THAT(verify_fails(*s.store), Catch::Contains(r.found));
}

TEST_CASE("sqlite store: a row rewritten with its hash breaks the link",
          "[sqlite]") {
  sqlite_store s;
  fill(s);
  auto e = everything(*s.store).at(2);
  e.actor = "somebody else";
  tamper(s.path, "update events set actor = '" + e.actor + "', hash = '" +
                     row_hash(e) + "' where position = 3");
  CHECK_THAT(verify_fails(*s.store),
             Catch::Contains("commit 2 (rows 3 to 3) is altered"));
}

TEST_CASE("sqlite store: an expired claim counts as absent", "[sqlite]") {
  sqlite_store s;
  append(*s.store, one("n:1", claiming(take("proof:1", start + 5s))));
  tamper(s.path, "delete from claims");
  CHECK_THAT(verify_fails(*s.store), Catch::Contains("claim proof:1"));
  s.time.set(start + 5s);
  check_verifies(*s.store);
}

TEST_CASE("sqlite store: a tampered store refuses to go on", "[sqlite]") {
  sqlite_store s;
  fill(s);
  tamper(s.path, "update head set position = 3");
  auto done = s->append(std::vector{one("n:3")});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::internal);
  s.close();
  CHECK_THAT(open_fails(s.path).message,
             Catch::Contains("the head row does not fit the events"));
}

TEST_CASE("sqlite store: a damaged file is INTERNAL with what is wrong",
          "[sqlite]") {
  sqlite_store s;
  fill(s);
  s.close();
  auto whole = read_file(s.path);
  REQUIRE(whole.size() > 20'000);
  SECTION("not a database") {
    write_file(s.path, "this is not a database, but it is long enough " +
                           std::string(4096, 'x'));
    auto why = open_fails(s.path);
    CHECK(why.code == errc::internal);
    CHECK_THAT(why.message, Catch::Contains("damaged"));
  }
  SECTION("cut off") {
    write_file(s.path, whole.substr(0, 9000));
    CHECK(open_fails(s.path).code == errc::internal);
  }
  SECTION("pages overwritten") {
    write_file(s.path, whole.substr(0, 8192) +
                           std::string(whole.size() - 8192, '\xa5'));
    CHECK(open_fails(s.path).code == errc::internal);
  }
  SECTION("one page overwritten, anywhere") {
    for (std::size_t at = 0; at < whole.size(); at += 4096) {
      auto text = whole;
      text.replace(at, 4096, 4096, '\xa5');
      write_file(s.path, text);
      INFO(at);
      auto why = open_fails(s.path);
      CHECK(why.code == errc::internal);
      // One line, with what to do.
      CHECK(why.message.find('\n') == std::string::npos);
      CHECK_THAT(why.message, Catch::EndsWith("; restore it from a backup"));
    }
  }
  SECTION("a table is missing") {
    tamper(s.path, "drop table claims");
    auto why = open_fails(s.path);
    CHECK(why.code == errc::internal);
    CHECK_THAT(why.message, Catch::Contains("no such table: claims"));
  }
  SECTION("a column is missing") {
    tamper(s.path, "alter table events rename column hash to h");
    CHECK_THAT(open_fails(s.path).message, Catch::Contains("hash"));
  }
  SECTION("the head row is missing") {
    tamper(s.path, "delete from head");
    CHECK_THAT(open_fails(s.path).message,
               Catch::Contains("the head row is missing"));
  }
}

TEST_CASE("sqlite store: another program's database is left alone",
          "[sqlite]") {
  temp_dir dir;
  auto path = dir.file("other.db");
  tamper(path, "create table theirs (x)");
  auto why = open_fails(path);
  CHECK(why.code == errc::internal);
  CHECK_THAT(why.message, Catch::Contains("not a better-compute store"));
}

TEST_CASE("sqlite store: a newer schema is INVALID_STATE", "[sqlite]") {
  sqlite_store s;
  fill(s);
  s.close();
  tamper(s.path, "insert into schema_version values (1000, 0)");
  auto why = open_fails(s.path);
  CHECK(why.code == errc::invalid_state);
  CHECK_THAT(why.message, Catch::Contains("schema 1000"));
}
