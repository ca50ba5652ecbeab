// spec: RFC 3339; CASES 112
#include "base/clock.hpp"

#include <catch2/catch.hpp>

using namespace bc;

TEST_CASE("clock: RFC 3339 both ways (case 112)") {
  for (const auto& [ms, text] :
       std::initializer_list<std::pair<std::int64_t, const char*>>{
           {0, "1970-01-01T00:00:00.000Z"},
           {1'764'439'761'007, "2025-11-29T18:09:21.007Z"},
           {951'782'399'999, "2000-02-28T23:59:59.999Z"},
           {951'782'400'000, "2000-02-29T00:00:00.000Z"},
           {1'735'689'599'999, "2024-12-31T23:59:59.999Z"},
           {2'524'608'000'000, "2050-01-01T00:00:00.000Z"}}) {
    CHECK(to_rfc3339(from_millis(ms)) == text);
    CHECK(to_millis(from_rfc3339(text).value()) == ms);
  }
  CHECK(to_millis(from_rfc3339("1970-01-01T00:00:01Z").value()) == 1000);
}

TEST_CASE("clock: other spellings are refused (case 112)") {
  for (const char* bad :
       {"", "2026-11-29", "2026-11-29T18:09:21", "2026-11-29 18:09:21Z",
        "2026-11-29T18:09:21+00:00", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00.00Z", "2026-01-01T00:00:00,000Z",
        "2026-01-01T00:00:00.0000Z", "2026-01-01t00:00:00z",
        "-026-01-01T00:00:00Z", "2026-01-01T00:00:0\xc2Z"}) {
    INFO(bad);
    CHECK_FALSE(from_rfc3339(bad));
  }
}

TEST_CASE("clock: a manual clock moves when told") {
  manual_clock c{from_millis(10)};
  CHECK(c.now() == from_millis(10));
  c.advance(seconds{2});
  CHECK(c.now() == from_millis(2'010));
  c.set(from_millis(5));
  CHECK(c.now() == from_millis(5));
}
