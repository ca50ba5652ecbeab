// spec: joining#renewal; CASES 100, 106, 107
#include "daemon/renewal_plan.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

using namespace bc;
using namespace bc::daemon;

namespace {

const time_point start = from_millis(1'764'000'000'000);

}  // namespace

TEST_CASE("renewal plan: due between 55 and 65 % of the lifetime (case 106)") {
  auto length = GENERATE(seconds{600}, seconds{7'200}, seconds{86'400});
  lifetime leaf{start, start + length};
  CHECK(renewal_due(leaf, 0) == start + length * 55 / 100);
  CHECK(renewal_due(leaf, 500) == start + length * 60 / 100);
  CHECK(renewal_due(leaf, 999) <= start + length * 65 / 100);
  CHECK(renewal_due(leaf, 999) > start + length * 649 / 1'000);
  for (unsigned r = 1; r < 1'000; ++r)
    CHECK(renewal_due(leaf, r) >= renewal_due(leaf, r - 1));
}

TEST_CASE("renewal plan: back-off doubles from 1 s to 5 min, half to whole") {
  const std::vector<int> whole = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    int failures = static_cast<int>(i) + 1;
    CHECK(back_off(failures, 0) == seconds{whole[i]} / 2.0);
    CHECK(back_off(failures, 999) <= seconds{whole[i]});
    CHECK(back_off(failures, 999) >= seconds{whole[i]} * 0.99);
  }
  CHECK(back_off(1'000'000, 999) <= seconds{300});
}

TEST_CASE("renewal plan: never more than 12 requests in any hour (case 107)") {
  auto random = GENERATE(0U, 500U, 999U);
  auto at_once = GENERATE(1, 2);
  attempt_pacer pacer;
  std::vector<milliseconds> requests;
  milliseconds now{0};
  while (now < std::chrono::hours{24}) {
    for (int i = 0; i < at_once; ++i)
      requests.push_back(now);
    pacer.failed(now, at_once, random);
    REQUIRE(pacer.next() > now);
    now = pacer.next();
  }
  for (auto from : requests) {
    auto in_an_hour =
        std::count_if(requests.begin(), requests.end(), [from](auto t) {
          return t >= from && t < from + std::chrono::hours{1};
        });
    // The second request of an attempt may be the thirteenth, never more.
    CHECK(in_an_hour <= attempt_pacer::most_in_an_hour + at_once - 1);
  }
  // And it does not fall asleep either.
  CHECK(requests.size() > 200);
}

TEST_CASE(
    "renewal plan: attempts that reached nobody do not count (case 107)") {
  attempt_pacer pacer;
  for (int i = 0; i < 30; ++i)
    pacer.failed(seconds{i}, 0, 999);
  REQUIRE(pacer.next() > seconds{100});
  pacer.gateway_is_back();
  CHECK(pacer.next() == seconds{0});
  // What was sent does, also when the gateway is back.
  for (int i = 0; i < 12; ++i)
    pacer.failed(seconds{i}, 1, 999);
  pacer.gateway_is_back();
  CHECK(pacer.next() >= std::chrono::hours{1});
}

TEST_CASE("renewal plan: certificates that come late count (case 107)") {
  attempt_pacer pacer;
  for (int i = 0; i < 12; ++i)
    pacer.came_late(seconds{i}, 1);
  CHECK(pacer.next() >= std::chrono::hours{1});
  pacer.succeeded();
  CHECK(pacer.next() == milliseconds{0});
}

TEST_CASE("renewal plan: a trial's limit is for its certificate's lifetime") {
  attempt_pacer pacer;
  pacer.count_over(seconds{360});
  for (int i = 0; i < 12; ++i)
    pacer.came_late(seconds{i}, 1);
  CHECK(pacer.next() == seconds{360});
  // Never less than in an hour.
  pacer.count_over(std::chrono::hours{24});
  CHECK(pacer.next() == std::chrono::hours{1});
}

TEST_CASE("server clock: the machine's alone before the server told the time") {
  server_clock clock;
  CHECK_FALSE(clock.known());
  CHECK(clock.now({start, seconds{7}}) == start);
  CHECK(clock.signed_now({start, seconds{7}}) == start);
  CHECK_FALSE(clock.offset_at({start, seconds{7}}));
}

TEST_CASE("server clock: what the machine's clock does afterwards (case 100)") {
  server_clock clock;
  // The machine is two days behind.
  const auto off = std::chrono::hours{48};
  clock.learn(start, {start - off, seconds{100}});
  CHECK(clock.offset() == off);
  const auto hour = std::chrono::hours{1};
  SECTION("nothing") {
    CHECK(clock.now({start - off + hour, seconds{100} + hour}) == start + hour);
  }
  SECTION("it is set right") {
    // Too late rather than too early: an early renewal asks the server again.
    const clock_reading then{start + hour, seconds{100} + hour};
    CHECK(clock.now(then) >= start + hour);
    // A command's time is not up by it, and the clock is right from then on.
    CHECK(clock.signed_now(then) == start + hour);
    CHECK(clock.offset_at(then) == milliseconds{0});
  }
  SECTION("it is set back") {
    const clock_reading then{start - off - hour * 10, seconds{100} + hour};
    CHECK(clock.now(then) == start + hour);
    CHECK(clock.signed_now(then) == start + hour);
    CHECK(clock.offset_at(then) == off + hour * 11);
  }
  SECTION("a hypervisor held the machine for an hour and set the clock after") {
    CHECK(clock.now({start - off + hour, seconds{100}}) == start + hour);
  }
}
