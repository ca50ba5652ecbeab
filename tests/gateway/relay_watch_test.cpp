// By which API process a gateway hears of changes: DESIGN section 7.
#include "gateway/relay_watch.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace bc;
using namespace bc::gateway;

namespace {

using at = relay_watch::time;
const at start{};
at after(int ms) {
  return start + milliseconds{ms};
}
const std::vector<bool> both{true, true};

}  // namespace

TEST_CASE("relay_watch: one is asked, and held once it says so") {
  relay_watch w{{}, start};
  CHECK_FALSE(w.ask({false, false}, start));
  auto first = w.ask(both, start);
  REQUIRE(first);
  // It has its time.
  CHECK_FALSE(w.ask(both, after(999)));
  CHECK_FALSE(w.held());
  CHECK(w.on_watching(*first, after(999)));
  CHECK(w.held() == first);
  CHECK_FALSE(w.ask(both, after(2'000)));
  // One that was not asked says nothing new.
  CHECK_FALSE(w.on_watching(*first, after(2'000)));
  CHECK_FALSE(w.on_watching(1 - *first, after(2'000)));
}

TEST_CASE("relay_watch: another is asked when one does not answer") {
  relay_watch w{{}, start};
  auto first = w.ask(both, start);
  auto second = w.ask(both, after(1'000));
  REQUIRE(second);
  CHECK(second != first);
  // Too late: it was not the last that was asked.
  CHECK_FALSE(w.on_watching(*first, after(1'001)));
  CHECK(w.on_watching(*second, after(1'002)));
}

TEST_CASE("relay_watch: silence moves it, words keep it") {
  relay_watch w{{}, start};
  auto first = w.ask(both, start);
  REQUIRE(w.on_watching(*first, start));
  for (int ms = 1'000; ms < 10'000; ms += 1'000) {
    CHECK_FALSE(w.ask(both, after(ms)));
    w.on_heard(*first, after(ms));
    w.on_heard(1 - *first, after(ms));
  }
  CHECK_FALSE(w.ask(both, after(10'500)));
  auto second = w.ask(both, after(10'501));
  REQUIRE(second);
  CHECK(second != first);
  CHECK_FALSE(w.is_lost(after(11'000)));
  CHECK(w.on_watching(*second, after(10'600)));
  // Nothing was lost between the two for so long.
  CHECK_FALSE(w.is_lost(after(12'600)));
}

TEST_CASE("relay_watch: a connection that ends is noticed at once") {
  relay_watch w{{}, start};
  auto first = w.ask(both, start);
  REQUIRE(w.on_watching(*first, start));
  w.on_gone(1 - *first);
  CHECK(w.held() == first);
  w.on_gone(*first);
  CHECK_FALSE(w.held());
  std::vector<bool> rest = both;
  rest[*first] = false;
  CHECK(w.ask(rest, after(1)) == 1 - *first);
  // And one that ends before it answered.
  w.on_gone(1 - *first);
  CHECK(w.ask(both, after(2)));
}

TEST_CASE("relay_watch: the loss is told once, after 2 s without anybody") {
  relay_watch w{{}, start};
  // Nothing to lose yet.
  CHECK_FALSE(w.is_lost(after(100'000)));
  auto first = w.ask(both, start);
  REQUIRE(w.on_watching(*first, start));
  w.on_gone(*first);
  CHECK_FALSE(w.is_lost(after(2'000)));
  CHECK(w.is_lost(after(2'001)));
  CHECK_FALSE(w.is_lost(after(3'000)));
  auto again = w.ask(both, after(3'000));
  REQUIRE(again);
  CHECK(w.on_watching(*again, after(3'000)));
  CHECK_FALSE(w.is_lost(after(5'000)));
  CHECK(w.is_lost(after(5'001)));
}

TEST_CASE("relay_watch: the only one is asked again, though it was silent") {
  relay_watch w{{}, start};
  REQUIRE(w.ask({true}, start) == 0U);
  REQUIRE(w.on_watching(0, start));
  CHECK(w.ask({true}, after(1'501)) == 0U);
  CHECK(w.on_watching(0, after(1'600)));
  CHECK_FALSE(w.is_lost(after(3'600)));
}

TEST_CASE(
    "relay_watch: whatever happens, sessions are told of a loss when none "
    "is held for longer") {
  std::mt19937 random{GENERATE(1U, 2U, 3U, 4U)};
  relay_watch_times times;
  relay_watch w{times, start};
  auto now = start;
  auto heard = start;  // the held one was heard
  bool good = false;   // sessions count on notices
  std::vector<bool> usable(3, true);
  std::optional<std::size_t> asked;
  for (int i = 0; i < 20'000; ++i) {
    now += milliseconds{random() % 300};
    auto which = random() % 3;
    switch (random() % 6) {
      case 0:
        usable[which] = !usable[which];
        if (!usable[which])
          w.on_gone(which);
        break;
      case 1:
        if (w.held() == which)
          heard = now;
        w.on_heard(which, now);
        break;
      case 2:
        if (asked && w.on_watching(*asked, now)) {
          good = true;
          heard = now;
        }
        break;
      default:
        break;
    }
    if (w.is_lost(now)) {
      REQUIRE(good);
      REQUIRE(now - heard > times.lost);
      good = false;
    }
    if (auto next = w.ask(usable, now)) {
      REQUIRE(usable[*next]);
      asked = next;
    }
    if (good)
      REQUIRE(now - heard <= times.lost);
    if (w.held())
      REQUIRE(good);
  }
}
