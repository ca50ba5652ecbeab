// spec: DESIGN section 11 (durations); CASES 21, 172.
#include "ops/cli/duration.hpp"

#include <catch2/catch.hpp>

using bc::seconds;
using bc::cli::parse_duration;

TEST_CASE("duration: whole seconds, minutes, hours and their sums (case 172)",
          "[ops][duration]") {
  struct row {
    const char* text;
    std::int64_t seconds;
  };
  for (auto [text, want] :
       {row{"60s", 60}, row{"1m", 60}, row{"24h", 86400}, row{"1440m", 86400},
        row{"86400s", 86400}, row{"1h30m", 5400}, row{"1h30m5s", 5405},
        row{"0s", 0}, row{"24h1s", 86401}}) {
    CAPTURE(text);
    auto d = parse_duration(text);
    REQUIRE(d);
    CHECK(d.value() == seconds{want});
  }
}

TEST_CASE("duration: everything else is refused (case 172)",
          "[ops][duration]") {
  for (const char* text :
       {"", "1d", "90", "1.5h", "-1h", "1h-30m", "9999999999h", " 1h", "1h ",
        "1H", "1µs", "60000ms", "30m1h", "1m1m", "h", "1h30", "+1h", "0x1h"}) {
    CAPTURE(text);
    auto d = parse_duration(text);
    REQUIRE_FALSE(d);
    CHECK(d.error().code == bc::errc::invalid_input);
  }
}
