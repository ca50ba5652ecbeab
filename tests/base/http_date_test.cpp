// RFC 9110 section 5.6.7
#include "base/http_date.hpp"

#include <catch2/catch.hpp>

using namespace bc;

TEST_CASE("http date: both ways") {
  const auto t = from_millis(784'111'777'000);
  CHECK(http_date(t) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(from_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == t);
  for (std::int64_t s = 0; s < 4'000'000'000; s += 86'399'111) {
    auto time = from_millis(s * 1'000);
    CHECK(from_http_date(http_date(time)) == time);
  }
}

TEST_CASE("http date: other forms are none") {
  for (const auto* bad :
       {"", "Sun, 06 Nov 1994 08:49:37", "1994-11-06T08:49:37Z",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT",
        "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Mon, 31 Feb 2000 00:00:00 GMT", "Wed, 31 Dec 1969 23:59:59 GMT"})
    CHECK_FALSE(from_http_date(bad));
}
