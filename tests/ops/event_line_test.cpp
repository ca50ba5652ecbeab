#include "ops/cli/event_line.hpp"

#include <catch2/catch.hpp>

TEST_CASE("event_line: time, type and the data's fields", "[ops]") {
  auto event = bc::json::parse(
      R"({"time":"2026-11-29T18:00:00.000Z","type":"node.joined",)"
      R"("data":{"nodeId":"node_1","reclaim":false,"hardwareKey":"","n":3}})");
  REQUIRE(event);
  CHECK(bc::cli::event_line(event.value()) ==
        "2026-11-29T18:00:00.000Z  node.joined  nodeId=node_1  "
        "reclaim=false  n=3");
}
