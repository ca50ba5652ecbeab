// Pages, cursors, who sees what, and that no list walks a whole table.
#include "projections/queries.hpp"

#include "projections/audit_query_texts.hpp"
#include "projections/query_texts.hpp"
#include "store_fixture.hpp"

namespace bc::testing {
using read_model_store = store_fixture;
}

#include "tests/projections/command_cases.hpp"
#include "tests/projections/directory_cases.hpp"
#include "tests/projections/joined_request_cases.hpp"
#include "tests/projections/rejoin_cases.hpp"
#include "tests/projections/request_cases.hpp"
#include "tests/projections/watch_cases.hpp"

using namespace bc;
using namespace bc::testing;

// Statistics as of a large deployment: of a handful of rows any plan is good,
// and the planner takes any.
static void analyze_as_large(sqlite::connection& db) {
  REQUIRE(db.execute("analyze"));
  REQUIRE(db.execute(
      "update sqlite_stat1 set stat ="
      " case when idx in (select name from sqlite_master"
      " where sql like '% where %') then '10000' else '1000000' end"
      " || replace(hex(zeroblob(length(stat) - length(replace(stat, ' ', ''))"
      " - 1)), '00', ' 100') || ' 1' where stat like '% %'"));
  REQUIRE(db.execute("analyze sqlite_schema"));
}

TEST_CASE("queries: none scans a table or sorts") {
  store_fixture f;
  // With statistics or without, and whatever the planner thinks of the sizes.
  f.random_history(50);
  static const std::vector<std::string> plans = [] {
    std::vector<std::string> out;
    for (auto q : projections::query::all)
      out.push_back("explain query plan " + std::string{q});
    for (auto q : projections::query::all_of_audit)
      out.push_back("explain query plan " + std::string{q});
    return out;
  }();
  auto db = f.connect();
  bool analyzed = GENERATE(false, true);
  if (analyzed)
    analyze_as_large(*db);
  for (const auto& plan : plans) {
    auto s = db->prepare(plan);
    REQUIRE(s);
    std::string steps;
    for (;;) {
      auto row = s.value().step();
      REQUIRE(row);
      if (!row.value())
        break;
      steps += s.value().text(3) + "\n";
    }
    INFO(plan << "\n" << steps);
    CHECK(steps.find("SEARCH") != std::string::npos);
    CHECK(steps.find("SCAN") == std::string::npos);
    CHECK(steps.find("TEMP B-TREE") == std::string::npos);
  }
}

TEST_CASE("queries: a list of live tokens walks the index of live ones") {
  store_fixture f;
  static const std::string plan =
      "explain query plan " + std::string{projections::query::live_tokens};
  auto db = f.connect();
  auto s = db->prepare(plan);
  REQUIRE(s);
  REQUIRE(s.value().step());
  CHECK(s.value().text(3).find("join_tokens_live") != std::string::npos);
}

TEST_CASE("queries: a store that is not there is an error") {
  CHECK(!projections::open_queries("/nowhere/at/all.db"));
}
