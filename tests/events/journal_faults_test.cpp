// DESIGN section 3: unknown outcomes, leases, snapshots, many writers.
#include "tests/support/journal_suite.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

TEMPLATE_TEST_CASE("journal: nothing is written when the append fails",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 2)))));
  REQUIRE(s->add_dropped("r:1", 4));
  auto point = GENERATE(fault_point::store_before_append,
                        fault_point::store_before_commit);
  auto b = make_batch({on("n:1", {event({{take("hw:1")}, {spend("jt", 2)}})}),
                       on("t:1", {event()})});
  b.limiter = limiter_need{"r:1", 1};
  arm(point, fault_action::error);
  auto done = s->append(std::vector{one("x:1"), b});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::unavailable);
  CHECK_FALSE(s->outcome(b.id).value());
  CHECK_FALSE(s->holder("hw:1").value());
  CHECK(s->read_limiter("r:1").value().dropped == 4);
  CHECK(s->head().value().position == 1);
  CHECK(s->head().value().commit == 1);
  CHECK(s->read_stream("n:1", 0, 10).value().empty());
  check_verifies(*s.store);
  // The same batch again, as if nothing had been.
  auto again = won(append(*s.store, b));
  CHECK(again.events[0].position == 2);
  CHECK(again.events[1].version == 2);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: an unknown outcome is looked up", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  auto b = one("n:1", claiming(take("hw:1")), 0);
  auto refused = one("n:1", event(), 7);
  arm(fault_point::store_after_commit, fault_action::error);
  auto done = s->append(std::vector{b, refused});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::unavailable);
  auto found = s->outcome(b.id).value();
  REQUIRE(found);
  REQUIRE(found->events.size() == 1);
  CHECK(found->events[0].position == 1);
  CHECK_FALSE(s->outcome(refused.id).value());
  CHECK(s->holder("hw:1").value()->stream == "n:1");
  // Sent again it is answered, not repeated.
  won(append(*s.store, b));
  CHECK(everything(*s.store).size() == 1);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: snapshots are kept by stream", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  CHECK_FALSE(s->load_snapshot("a:1").value());
  REQUIRE(s->save_snapshot("a:1", {128, 2, "{\"x\":1}"}));
  REQUIRE(s->save_snapshot("b:1", {5, 1, "{}"}));
  REQUIRE(s->save_snapshot("a:1", {256, 3, "{\"x\":2}"}));
  auto found = s->load_snapshot("a:1").value();
  REQUIRE(found);
  CHECK(found->version == 256);
  CHECK(found->fold_version == 3);
  CHECK(found->state == "{\"x\":2}");
}

TEMPLATE_TEST_CASE("journal: one holder of the lease at a time", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  auto mine = s->acquire_lease("p1", 10s).value();
  REQUIRE(mine);
  CHECK(mine->holder == "p1");
  CHECK(mine->epoch == 1);
  CHECK(mine->expires_at == start + 10s);
  CHECK_FALSE(s->acquire_lease("p2", 10s).value());
  s.time.set(start + 9s);
  auto longer = s->acquire_lease("p1", 10s).value();
  REQUIRE(longer);
  CHECK(longer->epoch == 1);
  CHECK(longer->expires_at == start + 19s);
  s.time.set(start + 19s - 1ms);
  CHECK_FALSE(s->acquire_lease("p2", 10s).value());
  s.time.set(start + 19s);
  auto theirs = s->acquire_lease("p2", 10s).value();
  REQUIRE(theirs);
  CHECK(theirs->epoch == 2);
  CHECK_FALSE(s->acquire_lease("p1", 10s).value());
}

TEMPLATE_TEST_CASE("journal: 32 threads never overspend nor leave a hole",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  constexpr int threads = 32, each = 8, uses = 50;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", uses)))));
  std::atomic<int> admitted{0}, refused{0}, faults{0};
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        auto node = "n:" + std::to_string(t) + "-" + std::to_string(i);
        std::vector group{make_batch({on("t:1", {budgeting(spend("jt"))}),
                                      on(node, {event()}, 0)}),
                          one("log:1")};
        auto done = s->append(group);
        if (!done) {
          ++faults;
          continue;
        }
        auto won = std::holds_alternative<appended>(done.value()[0]);
        ++(won ? admitted : refused);
      }
    });
  for (auto& t : pool)
    t.join();
  CHECK(faults == 0);
  CHECK(admitted == uses);
  CHECK(refused == threads * each - uses);
  auto all = everything(*s.store);
  REQUIRE(all.size() == 1 + 2 * uses + threads * each);
  for (std::size_t i = 0; i < all.size(); ++i)
    REQUIRE(all[i].position == i + 1);
  CHECK(s->read_stream("t:1", 0, 1000).value().size() == 1 + uses);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: verify reports moves the events do not allow",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 1)))));
  won(append(*s.store, one("n:1", claiming(take("hw:1")))));
  check_verifies(*s.store);
  CHECK(s->verify({}));
  auto none =
      s->verify({[](const envelope&) -> result<moves> { return moves{}; }});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == errc::internal);
  CHECK_THAT(none.error().message, Catch::Contains("claim hw:1"));
  auto twice = s->verify({[](const envelope& e) -> result<moves> {
    auto m = moves_in(e).value();
    if (e.position == 1)
      m.budgets.push_back(spend("jt", 2));
    return m;
  }});
  REQUIRE_FALSE(twice);
  CHECK_THAT(twice.error().message, Catch::Contains("row 1 overspends"));
  auto unknown = s->verify({[](const envelope&) -> result<moves> {
    return fail(errc::internal, "unknown event type x");
  }});
  REQUIRE_FALSE(unknown);
  CHECK_THAT(unknown.error().message,
             Catch::Contains("row 1 cannot be folded: unknown event type"));
}
