// spec: DESIGN section 11: human tables on a terminal.
#include "ops/cli/table.hpp"

#include "ops/cli/cells.hpp"
#include "ops/cli/relative_time.hpp"
#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>

using namespace bc;

namespace {

const auto now = from_rfc3339("2026-11-29T18:00:00Z").value();

cli::presentation plainly() {
  return {now, false, false, 0};
}

const std::vector<cli::column>& columns() {
  static const std::vector<cli::column> all{
      cli::text_column("ID", "id"), cli::state_column("STATUS", "status"),
      cli::free_column("HOSTNAME", "hostname"),
      cli::time_column("JOINED", "joinedAt"),
      cli::time_column("EXPIRES", "expiresAt", cli::tone::bad)};
  return all;
}

json::document items() {
  auto doc = json::parse(R"([
    {"id":"node_01","status":"adopted","hostname":"rack-b7-u12",
     "joinedAt":"2026-11-29T17:55:00.000Z",
     "expiresAt":"2026-11-29T19:00:00.000Z"},
    {"id":"node_02","status":"cordoned",
     "hostname":"名前-\u001b[2J-a-name-of-some-length",
     "joinedAt":"2026-11-29T18:00:00.000Z",
     "expiresAt":"2026-11-29T17:00:00.000Z"},
    {"id":"node_03","status":"retired","joinedAt":"2026-01-02T03:04:05.678Z"}
  ])");
  REQUIRE(doc);
  return std::move(doc).value();
}

std::string shown(const cli::presentation& how) {
  auto text = cli::table_text(columns(), items(), how);
  text.pop_back();
  return text;
}

}  // namespace

TEST_CASE("table: aligned, with relative times", "[ops][table]") {
  testing::check_golden("cli/table.txt", shown(plainly()));
}

TEST_CASE("table: exact times with --utc", "[ops][table]") {
  auto how = plainly();
  how.utc = true;
  testing::check_golden("cli/table_utc.txt", shown(how));
}

TEST_CASE("table: colours are only around cells", "[ops][table]") {
  auto how = plainly();
  how.colour = true;
  auto text = shown(how);
  testing::check_golden("cli/table_colour.txt", text);
  // Without them it is the plain table.
  std::string bare;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\x1b')
      i = text.find('m', i);
    else
      bare += text[i];
  CHECK(bare == shown(plainly()));
}

TEST_CASE("table: what is too wide is cut, ids never", "[ops][table]") {
  auto how = plainly();
  how.columns = 58;
  auto text = shown(how);
  testing::check_golden("cli/table_narrow.txt", text);
  how.columns = 1;
  CHECK(shown(how).find("node_01") != std::string::npos);
  CHECK(shown(how).find("adopted") != std::string::npos);
}

TEST_CASE("table: nothing in it but titles", "[ops][table]") {
  json::document none;
  none.SetArray();
  CHECK(cli::table_text(columns(), none, plainly()) ==
        "ID  STATUS  HOSTNAME  JOINED  EXPIRES\n");
}

TEST_CASE("table: a column that says nothing may hide", "[ops][table]") {
  auto rows = json::parse(R"([{"id":"a"},{"id":"b"}])");
  REQUIRE(rows);
  const std::vector<cli::column> two{
      cli::text_column("ID", "id"),
      cli::when_set(cli::time_column("REVOKED", "revokedAt"))};
  CHECK(cli::table_text(two, rows.value(), plainly()) == "ID\na\nb\n");
  rows = json::parse(
      R"([{"id":"a"},{"id":"b","revokedAt":"2026-11-29T17:00:00Z"}])");
  REQUIRE(rows);
  CHECK(cli::table_text(two, rows.value(), plainly()) ==
        "ID  REVOKED\na   -\nb   1h ago\n");
}

TEST_CASE("record: fields, objects below, lists as tables", "[ops][table]") {
  auto record = json::parse_object(R"({
    "id":"node_01","status":"cordoned","joinedAt":"2026-11-29T16:00:00.000Z",
    "hostname":"a\nb","hardwareKeyTrusted":true,
    "attestors":["tpm","discovery"],"none":[],
    "certificate":{"serial":"0a1b","notAfter":"2026-11-30T16:00:00.000Z"},
    "conditions":[
      {"type":"Cordoned","since":"2026-11-29T17:30:00.000Z","message":"disk"},
      {"type":"CloneSuspected","since":"2026-11-29T17:00:00.000Z"}],
    "refusals":[
      {"reason":"join:expect","identifiers":{"serials":["A","B"]}},
      {"reason":"join:reclaim","identifiers":{}}]
  })");
  REQUIRE(record);
  auto text = cli::record_text(record.value(), plainly());
  text.pop_back();
  testing::check_golden("cli/record.txt", text);
}

TEST_CASE("relative_time: the largest whole unit", "[ops][table]") {
  struct row {
    std::int64_t ahead_ms;
    std::string text;
  };
  constexpr std::int64_t s = 1000, m = 60 * s, h = 60 * m, d = 24 * h;
  for (const auto& r : std::vector<row>{{0, "now"},
                                        {999, "now"},
                                        {-999, "now"},
                                        {s, "in 1s"},
                                        {-59 * s, "59s ago"},
                                        {-m, "1m ago"},
                                        {h - s, "in 59m"},
                                        {-h, "1h ago"},
                                        {-d + s, "23h ago"},
                                        {-d, "1d ago"},
                                        {99 * d, "in 99d"},
                                        {-100 * d, "2026-08-21"}}) {
    CAPTURE(r.ahead_ms);
    CHECK(cli::relative_time(now + milliseconds{r.ahead_ms}, now) == r.text);
  }
}

TEST_CASE("cells: only fields of time are read as times", "[ops][table]") {
  auto doc = json::parse_object(
      R"({"hostname":"2026-11-29T17:00:00Z","since":"soon"})");
  REQUIRE(doc);
  CHECK(cli::record_text(doc.value(), plainly()) ==
        "hostname  2026-11-29T17:00:00Z\nsince     soon\n");
}
