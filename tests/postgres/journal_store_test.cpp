// DESIGN section 3: what the journal on Postgres does beyond the conformance
// suite (tests/events/journal_*_test.cpp, which runs here too).
#include "actors/group_commit.hpp"
#include "tests/support/journal_suite.hpp"
#include "tests/support/postgres_store.hpp"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;
using namespace bc::testing;

namespace {

/// `size` batches of two streams, two claims and a budget each.
std::vector<batch> full_group(int size, const std::string& name) {
  std::vector<batch> group;
  for (int i = 0; i < size; ++i) {
    auto id = name + std::to_string(i);
    group.push_back(make_batch(
        {on("t:hot", {budgeting(spend("jt"))}),
         on("n:" + id,
            {event({{take("hw:" + id), take("proof:" + id, start)}, {}})},
            0)}));
  }
  return group;
}

}  // namespace

TEST_CASE(
    "postgres journal: a group of 512 takes two round trips, and a "
    "member that fails, fails alone",
    "[postgres][journal]") {
  postgres_store s;
  won(append(*s.store, one("t:hot", budgeting(open_budget("jt", 100'000)))));
  append(*s.store, full_group(2, "warm"));
  auto group = full_group(512, "x");
  group[100].writes[1].expected_version = 7;
  group[200].claims.push_back({"hw:warm0", ""});
  auto before = postgres::round_trips();
  auto outcomes = append(*s.store, group);
  CHECK(postgres::round_trips() - before == 2);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CAPTURE(i);
    REQUIRE(std::holds_alternative<rejected>(outcomes[i]) ==
            (i == 100 || i == 200));
  }
  lost(outcomes[100], unmet::version);
  CHECK(lost(outcomes[200], unmet::claim).holder->stream == "n:warm0");
  CHECK(s->head().value().position == 1 + 2 * 512);
  check_verifies(*s.store);
}

TEST_CASE(
    "postgres journal: a group nobody survives is rolled back and leaves "
    "the head alone",
    "[postgres][journal]") {
  postgres_store s;
  won(append(*s.store, one("a:1")));
  lost(append(*s.store, one("a:1", event(), 5)), unmet::version);
  batch pins;
  pins.writes.push_back(on("a:1", {}, 1));
  won(append(*s.store, pins));
  auto before = ask(s.schema.url(), "select xmin::text from head");
  auto trips = postgres::round_trips();
  won(append(*s.store, pins));
  CHECK(postgres::round_trips() - trips == 2);
  CHECK(ask(s.schema.url(), "select xmin::text from head") == before);
  CHECK(s->head().value().commit == 1);
}

TEST_CASE(
    "postgres journal: a text that cannot be stored is a fault and "
    "writes nothing (case 142)",
    "[postgres][journal]") {
  postgres_store s;
  auto bad = GENERATE(as<std::string>{}, std::string("x\0y", 3), "\xff\xfe");
  auto b = one("a:1", event({}, bad));
  auto failed = s->append(std::vector{b, one("a:2")});
  REQUIRE(!failed);
  CHECK(failed.error().code == errc::internal);
  CHECK(s->head().value().position == 0);
  won(append(*s.store, one("a:2")));
  check_verifies(*s.store);
}

TEST_CASE(
    "postgres journal: claims expire to the millisecond in every time "
    "zone (case 17)",
    "[postgres][journal]") {
  auto zone = GENERATE(as<std::string>{}, "America/Los_Angeles",
                       "Pacific/Kiritimati", "Australia/Lord_Howe");
  CAPTURE(zone);
  migrated_schema schema;
  // As the database's own setting would be: before the session's.
  auto url = schema.url() + "%20-cTimeZone%3D" + zone;
  {
    postgres_clock time{url, start};
    auto store = open_store(url);
    won(append(*store, one("n:1", claiming(take("proof:1", start + 60s)))));
    time.set(start + 59'999ms);
    CHECK(store->holder("proof:1").value());
    lost(append(*store, one("n:2", claiming(take("proof:1")))), unmet::claim);
    time.set(start + 60s);
    CHECK(!store->holder("proof:1").value());
    won(append(*store, one("n:2", claiming(take("proof:1")))));
  }
  // The store's own clock, in a session that insists on its zone.
  migrated_schema other;
  auto db = connect(other.url());
  REQUIRE(db->execute("set timezone = '" + zone + "'"));
  auto query = db->prepare("select store_now_ms()");
  REQUIRE(query.value().step());
  auto ahead = query.value().number(0) - to_millis(system_clock{}.now());
  CHECK(std::abs(ahead) < 60'000);
}

TEST_CASE(
    "postgres journal: a text that cannot be stored fails no other batch of "
    "its group (case 142)",
    "[postgres][journal]") {
  postgres_store s;
  auto bad = std::string{"a\0b", 3};
  auto in_data = one("b:1");
  in_data.writes[0].events[0].data = bad;
  auto in_name = one("d:1", claiming(take(bad)));
  std::vector<batch> group{one("a:1"), in_data, one("c:1"), in_name,
                           one("e:1")};
  auto done = actors::commit_group(*s.store, group, {});
  REQUIRE(done.outcomes.size() == group.size());
  CHECK_FALSE(done.store_is_away);
  for (auto i : {0U, 2U, 4U})
    CHECK(won(done.outcomes[i].value()).events.size() == 1);
  for (auto i : {1U, 3U})
    CHECK(done.outcomes[i].error().code == errc::internal);
  CHECK(s->head().value().position == 3);
  check_verifies(*s.store);
}

TEST_CASE(
    "postgres journal: time is read after the wait for the lock "
    "(case 15)",
    "[postgres][journal]") {
  postgres_store s;
  won(append(*s.store, one("a:1")));
  auto blocker = connect(s.schema.url());
  REQUIRE(blocker->execute("begin; select 1 from head for update"));
  auto b = one("a:1");
  b.valid_until = start + 5s;
  std::optional<append_outcome> outcome;
  std::thread waiting{[&] { outcome = append(*s.store, b); }};
  auto waits = [&] {
    return ask(s.schema.url(),
               "select count(*) from pg_locks where not granted and pid in "
               "(select pid from pg_stat_activity where query like "
               "'%lock_journal%' and wait_event_type = 'Lock')") != "0";
  };
  while (!waits())
    std::this_thread::sleep_for(10ms);
  s.time.set(start + 5s);
  REQUIRE(blocker->execute("commit"));
  waiting.join();
  lost(*outcome, unmet::expired);
}

TEST_CASE("postgres journal: the clock is corrected by the store's",
          "[postgres][journal]") {
  postgres_store s;
  s.time.set(start + 24h);
  won(append(*s.store, one("a:1")));
  CHECK(s->now() >= start + 24h);
  CHECK(s->now() < start + 25h);
  CHECK(s->is_shared());
}

TEST_CASE("postgres journal: a checkpoint needs the lease of its epoch",
          "[postgres][journal]") {
  postgres_store s;
  won(append(*s.store, one("a:1")));
  auto head = s->head().value();
  checkpoint c{head.position,    head.commit, head.link,
               head.incarnation, start,       "00ff"};
  CHECK(s->add_checkpoint(c, 1).error().code == errc::invalid_state);
  auto mine = s->acquire_lease("p1", 10s).value();
  REQUIRE(mine);
  REQUIRE(s->add_checkpoint(c, mine->epoch));
  CHECK(s->read_checkpoints(0, 10).value() == std::vector{c});
  CHECK(s->read_checkpoints(1, 10).value().empty());
  s.time.set(start + 10s);
  CHECK(s->add_checkpoint(c, mine->epoch).error().code == errc::invalid_state);
  REQUIRE(s->acquire_lease("p2", 10s).value());
  CHECK(s->add_checkpoint(c, mine->epoch).error().code == errc::invalid_state);
}

TEST_CASE(
    "postgres journal: no append reads a whole table, however small the "
    "tables were when its plans were made",
    "[postgres][journal]") {
  bc::testing::postgres_schema schema;
  auto url = schema.url() + "&application_name=scan-test";
  migrate(url);
  auto scans = [&] {
    return ask(schema.url(),
               "select sum(seq_scan) from pg_stat_user_tables where "
               "schemaname = current_schema() and relname in ('events', "
               "'claims', 'batches', 'budgets', 'limiters', 'commits')");
  };
  // The server adds up what a connection did when it ends, and it ends after
  // its client went: what the migration scanned counts before.
  auto all_ended = [&] {
    while (ask(schema.url(),
               "select count(*) from pg_stat_activity where "
               "application_name = 'scan-test'") != "0")
      std::this_thread::sleep_for(10ms);
  };
  all_ended();
  auto before = scans();
  {
    auto store = open_store(url);
    won(append(*store, one("t:hot", budgeting(open_budget("jt", 100'000)))));
    for (int i = 0; i < 8; ++i)
      append(*store, full_group(4, "w" + std::to_string(i) + "-"));
    auto b = one("refusal:1");
    b.limiter = limiter_need{"refusal:1", 0};
    won(append(*store, b));
    CHECK(store->read_stream("t:hot", 0, 100).value().size() == 33);
    CHECK(store->read_all(5, 10).value().size() == 10);
    CHECK(store->read_limiter("refusal:1").value().recent.size() == 1);
  }
  all_ended();
  CHECK(scans() == before);
}
