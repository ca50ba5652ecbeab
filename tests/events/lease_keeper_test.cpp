// Who does the background duties (DESIGN 3): one process at a time, and one
// that lost the lease, or slept through its end, knows.

#include "events/lease_keeper.hpp"

#include "events/memory_journal.hpp"
#include "tests/actors/watched_journal.hpp"
#include "tests/support/eventually.hpp"

#include <catch2/catch.hpp>

#include <atomic>

using namespace bc;
using namespace bc::events;
using bc::test::eventually;

namespace {

/// A store on a clock of its own, and the process's time, moved by hand.
struct leased_store {
  manual_clock clock{from_millis(1'790'000'000'000)};
  std::unique_ptr<journal> store = make_memory_journal(clock);
  test::watched_journal seen{*store};
  std::atomic<std::int64_t> ms = 1'000;

  std::unique_ptr<lease_keeper> keeper(const std::string& name,
                                       seconds ttl = seconds{30}) {
    return lease_keeper::start(seen, name, ttl,
                               [this] { return milliseconds{ms.load()}; });
  }
  void pass(milliseconds by) {
    clock.advance(by);
    ms += by.count();
  }
};

bool holds(const lease_keeper& k) {
  return eventually([&] { return k.epoch().has_value(); });
}

}  // namespace

TEST_CASE("lease: of two processes of one name, one holds it") {
  leased_store s;
  auto first = s.keeper("api-1 pid 1");
  REQUIRE(holds(*first));
  CHECK(first->epoch() == 1u);
  auto before = s.seen.leases_asked.load();
  auto second = s.keeper("api-1 pid 1");
  REQUIRE(eventually([&] { return s.seen.leases_asked > before; }));
  CHECK_FALSE(second->epoch().has_value());
}

TEST_CASE("lease: given back at the stop, another takes it at once") {
  leased_store s;
  auto first = s.keeper("a");
  REQUIRE(holds(*first));
  first->stop();
  CHECK_FALSE(first->epoch().has_value());
  auto second = s.keeper("b");
  REQUIRE(holds(*second));
  CHECK(second->epoch() == 2u);
  first->stop();  // a second stop does nothing
  CHECK(second->epoch() == 2u);
}

TEST_CASE(
    "lease: a process that was frozen does not hold it on waking (case 150)") {
  leased_store s;
  auto k = s.keeper("a");
  REQUIRE(holds(*k));
  // Its own thread is asleep for 10 s; the store may have given it away.
  s.pass(seconds{26});
  CHECK(k->epoch().has_value());
  s.pass(seconds{1});
  CHECK_FALSE(k->epoch().has_value());
}

TEST_CASE("lease: a store that does not answer ends it in time, not before") {
  leased_store s;
  auto k = s.keeper("a", seconds{1});
  REQUIRE(holds(*k));
  s.seen.lose_leases = true;
  auto asked = s.seen.leases_asked.load();
  REQUIRE(eventually([&] { return s.seen.leases_asked > asked + 1; }));
  CHECK(k->epoch() == 1u);  // no time has passed
  s.pass(milliseconds{901});
  CHECK_FALSE(k->epoch().has_value());
  s.pass(seconds{1});
  s.seen.lose_leases = false;
  REQUIRE(holds(*k));
  CHECK(k->epoch() == 2u);
}

TEST_CASE("lease: lost to another, it is not held at the next answer") {
  leased_store s;
  auto k = s.keeper("a", seconds{1});
  REQUIRE(holds(*k));
  // Only the store's clock moves on, and another is faster.
  s.clock.advance(seconds{2});
  auto taken = s.store->acquire_lease("b", seconds{3600});
  while (taken && !taken.value()) {
    s.clock.advance(seconds{2});
    taken = s.store->acquire_lease("b", seconds{3600});
  }
  REQUIRE(taken);
  CHECK(eventually([&] { return !k->epoch().has_value(); }));
  k->stop();
  auto again = s.store->acquire_lease("b", seconds{3600});
  REQUIRE(again);
  CHECK(again.value()->epoch == taken.value()->epoch);
}

TEST_CASE("lease: held by the machine's own time, renewed while it runs") {
  system_clock clock;
  auto store = make_memory_journal(clock);
  test::watched_journal seen{*store};
  auto k = lease_keeper::start(seen, "a", seconds{1});
  REQUIRE(holds(*k));
  // Past several ends, had it not been renewed.
  REQUIRE(eventually([&] { return seen.leases_asked > 8; }));
  CHECK(eventually([&] { return k->epoch() == 1u; }));
}
