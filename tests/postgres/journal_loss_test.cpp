// What may be lost between this program and its database, and when.
#include "tests/support/cut_store.hpp"
#include "tests/support/journal_suite.hpp"
#include "tests/support/known_outcome.hpp"

#include <atomic>
#include <thread>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;
using namespace bc::testing;

namespace {

/// Raises this SQLSTATE the first `times` times the statement runs.
void fail_times(const std::string& url, const std::string& state, int times,
                const std::string& trigger) {
  run_script(url,
             "create sequence failures; create function fail() returns trigger "
             "language plpgsql as $$ begin if nextval('failures') <= " +
                 std::to_string(times) +
                 " then raise exception 'forced' using errcode = '" + state +
                 "'; end if; return null; end $$; create " + trigger +
                 " execute function fail()");
}

constexpr const char* at_write =
    "trigger fail after insert on events for each statement";
constexpr const char* at_commit =
    "constraint trigger fail after insert on commits "
    "deferrable initially deferred for each row";

}  // namespace

TEST_CASE(
    "postgres journal: a connection lost before, in and after COMMIT "
    "leaves one answer (case 159)",
    "[postgres][journal]") {
  using cut = cutting_proxy::cut;
  auto how = GENERATE(cut::request, cut::hang_up, cut::answer);
  CAPTURE(static_cast<int>(how));
  cut_store s;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 5)))));
  // The commit takes its time, so that whoever asks must wait for it.
  run_script(s.schema.url(),
             "create function dawdle() returns trigger language plpgsql as $$ "
             "begin perform pg_sleep(0.3); return null; end $$; "
             "create constraint trigger dawdle after insert on commits "
             "deferrable initially deferred for each row "
             "execute function dawdle()");
  auto b = make_batch({on("t:1", {budgeting(spend("jt"))}),
                       on("n:1", {claiming(take("hw:1"))}, 0)});
  // The first request locks and reads, the second writes and commits.
  s.proxy.arm(how, 2);
  auto lost = s->append(std::vector{b});
  REQUIRE(!lost);
  CHECK(lost.error().code == errc::unavailable);
  CHECK(s.proxy.has_cut());
  auto found = known_outcome(*s.store, b.id);
  CHECK(found.has_value() == (how != cut::request));
  // And whoever tries again finds it done, or does it.
  CHECK(won(append(*s.store, b)).events.size() == 2);
  CHECK(s->read_stream("n:1", 0, 10).value().size() == 1);
  CHECK(s->read_stream("t:1", 0, 10).value().size() == 2);
  check_verifies(*s.store);
}

TEST_CASE(
    "postgres journal: a connection lost before its transaction began "
    "costs nobody an error (case 162)",
    "[postgres][journal]") {
  cut_store s;
  won(append(*s.store, one("a:1")));
  auto how = GENERATE(cutting_proxy::cut::request, cutting_proxy::cut::answer);
  s.proxy.arm(how, 1);
  won(append(*s.store, one("a:1")));
  CHECK(s.proxy.has_cut());
  s.proxy.arm(how, 1);
  CHECK(s->head().value().position == 2);
  CHECK(s.proxy.has_cut());
  REQUIRE(s->add_dropped("r:2", 1));
  s.proxy.arm(how, 1);
  REQUIRE(s->add_dropped("r:1", 1));
  CHECK(s.proxy.has_cut());
  CHECK(s->read_limiter("r:1").value().dropped == 1);
  check_verifies(*s.store);
}

TEST_CASE(
    "postgres journal: what adds is not repeated after its transaction "
    "began (case 159)",
    "[postgres][journal]") {
  cut_store s;
  REQUIRE(s->add_dropped("r:1", 1));
  s.proxy.arm(cutting_proxy::cut::answer, 2);
  CHECK(s->add_dropped("r:1", 1).error().code == errc::unavailable);
  CHECK(s->read_limiter("r:1").value().dropped == 2);
}

TEST_CASE(
    "postgres journal: an ended server process is found out at the next "
    "append",
    "[postgres][journal]") {
  migrated_schema schema;
  auto store = open_store(schema.url() + "&application_name=doomed");
  won(append(*store, one("a:1")));
  CHECK(store->head().value().position == 1);
  run_script(schema.url(),
             "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
             "where application_name = 'doomed'");
  won(append(*store, one("a:1")));
  CHECK(store->head().value().position == 2);
}

TEST_CASE(
    "postgres journal: 40001 and 40P01 are tried three times, then "
    "UNAVAILABLE (case 160)",
    "[postgres][journal]") {
  migrated_schema schema;
  auto store = open_store(schema.url());
  auto state = GENERATE(as<std::string>{}, "40001", "40P01");
  auto when = GENERATE(at_write, at_commit);
  auto times = GENERATE(2, 3);
  CAPTURE(state, when, times);
  fail_times(schema.url(), state, times, when);
  auto b = one("a:1", event(), 0);
  auto done = store->append(std::vector{b});
  REQUIRE(bool{done} == (times < 3));
  if (!done) {
    CHECK(done.error().code == errc::unavailable);
    CHECK_THAT(done.error().detail, Catch::Contains(state));
    CHECK(!store->outcome(b.id).value());
  }
  won(append(*store, b));
  CHECK(store->head().value().position == 1);
  CHECK(store->head().value().commit == 1);
  check_verifies(*store);
}

TEST_CASE("postgres journal: another failure at COMMIT writes nothing",
          "[postgres][journal]") {
  migrated_schema schema;
  auto store = open_store(schema.url());
  auto [state, code] =
      GENERATE(table<std::string, errc>({{"57014", errc::unavailable},
                                         {"53100", errc::unavailable},
                                         {"23505", errc::internal}}));
  CAPTURE(state);
  fail_times(schema.url(), state, 1, at_commit);
  auto b = one("a:1", event(), 0);
  auto done = store->append(std::vector{b});
  REQUIRE(!done);
  CHECK(done.error().code == code);
  CHECK(!store->outcome(b.id).value());
  won(append(*store, b));
  check_verifies(*store);
}

TEST_CASE("postgres journal: a lock that is not granted in time is UNAVAILABLE",
          "[postgres][journal]") {
  migrated_schema schema;
  auto store = open_store(schema.url() + "%20-clock_timeout%3D200ms");
  auto b = one("a:1");
  won(append(*store, b));
  auto blocker = connect(schema.url());
  REQUIRE(blocker->execute("begin; select 1 from head for update"));
  CHECK(store->append(std::vector{one("a:1")}).error().code ==
        errc::unavailable);
  CHECK(store->outcome(b.id).error().code == errc::unavailable);
  // Reading needs no lock.
  CHECK(store->head().value().position == 1);
  REQUIRE(blocker->execute("rollback"));
  CHECK(store->outcome(b.id).value());
  won(append(*store, one("a:1")));
}

TEST_CASE("postgres journal: a program that stops in its transaction loses it",
          "[postgres][journal]") {
  migrated_schema schema;
  auto stopped = connect(schema.url() +
                         "%20-cidle_in_transaction_session_timeout%3D200ms");
  REQUIRE(stopped->execute("begin; select 1 from head for update"));
  // Waits until the server has ended the other's transaction.
  auto store = open_store(schema.url());
  won(append(*store, one("a:1")));
  CHECK(stopped->execute("select 1").error().code == errc::unavailable);
  CHECK(!stopped->is_alive());
}
