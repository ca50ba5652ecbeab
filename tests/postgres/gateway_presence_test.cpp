// When gateways were last heard of, over several processes (DESIGN 7).
#include "events/gateway_presence.hpp"

#include "tests/postgres/read_models.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::testing;

TEST_CASE("presence: each process hears of what the other one saw",
          "[postgres]") {
  postgres_store f;
  const auto url = f.models.schema.url();
  auto one = events::make_postgres_presence(url);
  auto other = events::make_postgres_presence(url);
  CHECK_FALSE(one->silent_for("gw_1").value());
  REQUIRE(one->seen(std::vector<std::string>{"gw_1", "gw_2"}));
  auto silence = other->silent_for("gw_1");
  REQUIRE(silence);
  REQUIRE(silence.value());
  CHECK(*silence.value() >= milliseconds{0});
  CHECK_FALSE(other->silent_for("gw_3").value());

  // By the store's clock alone, and only so long.
  run_script(url,
             "update gateways_seen set seen_ms = seen_ms - 90000"
             " where gateway = 'gw_1'");
  CHECK(*other->silent_for("gw_1").value() >= milliseconds{90'000});
  CHECK(*other->silent_for("gw_2").value() < milliseconds{90'000});
  REQUIRE(other->seen(std::vector<std::string>{"gw_1"}));
  CHECK(*one->silent_for("gw_1").value() < milliseconds{90'000});
  run_script(url,
             "update gateways_seen set seen_ms = 1 where gateway = 'gw_2'");
  REQUIRE(one->seen({}));
  CHECK_FALSE(one->silent_for("gw_2").value());
  CHECK(one->silent_for("gw_1").value());
}
