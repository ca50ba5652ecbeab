// A server that takes what it is sent and says nothing, as a frozen one does or
// one behind a network that drops every packet (field case 161). Without a
// bound of the program's own these calls would wait for ever: no timeout of the
// server's fires, and no connection ends.
#include "events/postgres_pool.hpp"
#include "tests/support/cut_store.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/journal_suite.hpp"
#include "tests/support/known_outcome.hpp"

#include <future>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;
using namespace bc::testing;

namespace {

using cut = cutting_proxy::cut;

// Long enough for a machine that is busy with other things.
constexpr postgres_silence brief{2s, 2s};
constexpr postgres_silence patient{1h, 2s};

/// What it answers; the test fails when it answers nothing.
template <class Call>
auto in_time(Call call) {
  auto answer = std::async(std::launch::async, std::move(call));
  const bool came = test::eventually(
      [&] { return answer.wait_for(0s) == std::future_status::ready; });
  CHECK(came);
  return answer.get();
}

}  // namespace

TEST_CASE(
    "postgres journal: a connection that went silent is given up, and what "
    "may be repeated is done on another (case 161)",
    "[postgres][journal]") {
  cut_store s{brief};
  won(append(*s.store, one("a:1")));
  REQUIRE(s->head());
  auto before = s.proxy.connections();
  SECTION("the tail hears of what others append") {
    auto other = open_store(s.schema.url());
    won(append(*other, one("a:1")));
    s.proxy.arm(cut::silence, 1);
    auto news = in_time([&] { return s->read_all(1, 10); });
    if (!news)
      FAIL(news.error().message << " " << news.error().detail);
    CHECK(news.value().size() == 1);
  }
  SECTION("an append before its transaction began") {
    s.proxy.arm(cut::silence, 1);
    auto done = in_time([&] { return s->append(std::vector{one("a:1")}); });
    if (!done)
      FAIL(done.error().message << " " << done.error().detail);
    won(done.value().front());
  }
  CHECK(s.proxy.has_cut());
  CHECK(s.proxy.connections() == before + 1);
  CHECK(s->head().value().position == 2);
  check_verifies(*s.store);
}

TEST_CASE(
    "postgres journal: a commit that is not answered in time is looked up on "
    "a new connection (cases 159, 161)",
    "[postgres][journal]") {
  auto how = GENERATE(cut::silence, cut::mute);
  CAPTURE(static_cast<int>(how));
  cut_store s{brief};
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 5)))));
  auto b = make_batch({on("t:1", {budgeting(spend("jt"))}),
                       on("n:1", {claiming(take("hw:1"))}, 0)});
  s.proxy.arm(how, 2);
  auto lost = in_time([&] { return s->append(std::vector{b}); });
  REQUIRE(!lost);
  CHECK(lost.error().code == errc::unavailable);
  CHECK(s.proxy.has_cut());
  CHECK(known_outcome(*s.store, b.id).has_value() == (how == cut::mute));
  CHECK(won(append(*s.store, b)).events.size() == 2);
  CHECK(s->read_stream("t:1", 0, 10).value().size() == 2);
  check_verifies(*s.store);
}

TEST_CASE(
    "postgres journal: a frozen server is UNAVAILABLE in bounded time, and "
    "works once it goes on (case 161)",
    "[postgres][journal]") {
  cut_store s{brief};
  auto b = one("a:1");
  won(append(*s.store, b));
  REQUIRE(s->outcome(b.id));
  s.proxy.freeze();
  auto code = [&](auto call) {
    auto answer = in_time(call);
    REQUIRE(!answer);
    return answer.error().code;
  };
  CHECK(code([&] { return s->append(std::vector{one("a:1")}); }) ==
        errc::unavailable);
  CHECK(code([&] { return s->outcome(b.id); }) == errc::unavailable);
  CHECK(code([&] { return s->read_all(0, 10); }) == errc::unavailable);
  s.proxy.thaw();
  CHECK(s->outcome(b.id).value());
  won(append(*s.store, one("a:1")));
  check_verifies(*s.store);
}

TEST_CASE(
    "postgres journal: what the server says late but in time is taken, on the "
    "connection it was asked on",
    "[postgres][journal]") {
  cut_store s{patient};
  won(append(*s.store, one("a:1")));
  auto before = s.proxy.connections();
  run_script(s.schema.url(),
             "create function dawdle() returns trigger language plpgsql as $$ "
             "begin perform pg_sleep(2.5); return null; end $$; "
             "create trigger dawdle after insert on events "
             "for each statement execute function dawdle()");
  won(append(*s.store, one("a:1")));
  CHECK(s.proxy.connections() == before);
}

TEST_CASE(
    "postgres journal: a read that is slow is ended by the server, and leaves "
    "nothing behind",
    "[postgres][journal]") {
  cut_store s{{1h, 4s}};
  won(append(*s.store, one("a:1")));
  REQUIRE(s->read_all(0, 10));
  auto before = s.proxy.connections();
  auto other = connect(s.schema.url());
  REQUIRE(other->execute("begin; lock table events"));
  auto slow = s->read_all(0, 10);
  REQUIRE(!slow);
  CHECK(slow.error().code == errc::unavailable);
  CHECK(s.proxy.connections() == before);
  CHECK(ask(s.schema.url(),
            "select count(*) from pg_locks where not granted and "
            "relation = 'events'::regclass") == "0");
  REQUIRE(other->execute("rollback"));
  CHECK(s->read_all(0, 10).value().size() == 1);
  CHECK(s.proxy.connections() == before);
}

TEST_CASE("postgres pool: a place is waited for in bounded time",
          "[postgres]") {
  postgres::pool only_one{shared_postgres_url(), 1, {}};
  auto held = only_one.borrow();
  REQUIRE(held);
  auto second = in_time([&] {
    auto none = only_one.borrow(false, 100ms);
    return none ? errc::internal : none.error().code;
  });
  CHECK(second == errc::unavailable);
}
