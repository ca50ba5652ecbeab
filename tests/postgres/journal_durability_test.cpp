// What an acknowledged append has behind it, whatever the server's settings.
#include "tests/support/eventually.hpp"
#include "tests/support/journal_suite.hpp"
#include "tests/support/postgres_store.hpp"

#include <atomic>
#include <thread>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;
using namespace bc::testing;

namespace {

void set_standbys(const std::string& url, const std::string& names) {
  run_script(url,
             "alter system set synchronous_standby_names = '" + names + "'");
  run_script(url, "select pg_reload_conf()");
  REQUIRE(test::eventually([&] {
    return ask(url, "select current_setting('synchronous_standby_names')") ==
           names;
  }));
}

// As somebody would who takes it for a backend that hangs.
void cancel_the_wait(const std::string& url) {
  CHECK(test::eventually([&] {
    return ask(url,
               "select count(pg_cancel_backend(pid)) from pg_stat_activity "
               "where application_name = 'writer' and "
               "wait_event = 'SyncRep'") == "1";
  }));
}

}  // namespace

TEST_CASE(
    "postgres journal: a commit that waits for its standby is not called done "
    "by the statement timeout (case 159)",
    "[postgres][journal]") {
  postgres_server server;
  migrated_schema schema{server.url()};
  auto store = open_store(schema.url() +
                          "%20-cstatement_timeout%3D1s"
                          "&application_name=writer");
  won(append(*store, one("a:1")));
  set_standbys(server.url(), "nobody");
  std::atomic<bool> answered = false;
  std::thread writer{[&] {
    won(append(*store, one("a:1")));
    answered = true;
  }};
  auto waits = [&] {
    return ask(server.url(),
               "select count(*) from pg_stat_activity where "
               "application_name = 'writer' and wait_event = 'SyncRep' and "
               "clock_timestamp() - query_start > interval '2 s'") == "1";
  };
  CHECK(test::eventually([&] { return waits() || answered; }));
  CHECK_FALSE(answered);
  set_standbys(server.url(), "");
  writer.join();
  CHECK(store->head().value().position == 2);
}

TEST_CASE(
    "postgres journal: a commit whose wait for its standby was ended by hand "
    "is not called done (case 159)",
    "[postgres][journal]") {
  postgres_server server;
  migrated_schema schema{server.url()};
  auto store = open_store(schema.url() + "&application_name=writer");
  won(append(*store, one("a:1")));
  set_standbys(server.url(), "nobody");
  auto b = one("a:1");
  std::thread writer{[&] {
    auto done = store->append(std::vector{b});
    CHECK((!done && done.error().code == errc::unavailable));
  }};
  cancel_the_wait(server.url());
  writer.join();
  // It can be seen, and may be lost all the same.
  CHECK(ask(schema.url(), "select position from head") == "2");
  set_standbys(server.url(), "");
  CHECK(store->outcome(b.id).value());
}

TEST_CASE(
    "postgres journal: another process does not call done what may be lost "
    "either, on a connection that it used before (case 159)",
    "[postgres][journal]") {
  postgres_server server;
  migrated_schema schema{server.url()};
  auto store = open_store(schema.url() + "&application_name=writer");
  auto opened = open_postgres_journal(schema.url(), {2s, 4s});
  REQUIRE(opened);
  auto& other = *opened.value();
  won(append(*store, one("a:1")));
  won(append(other, one("c:1")));
  set_standbys(server.url(), "nobody");
  auto b = one("a:1");
  bool is_known = true;
  std::thread writer{
      [&] { is_known = store->append(std::vector{b}).has_value(); }};
  cancel_the_wait(server.url());
  writer.join();
  CHECK_FALSE(is_known);
  CHECK(ask(schema.url(), "select position from head") == "3");
  // It came again, or what it wrote is confirmed.
  auto again = GENERATE(true, false);
  CHECK(!other.append(std::vector{again ? b : make_batch({})}));
  CHECK(!other.outcome(b.id));
  set_standbys(server.url(), "");
  CHECK(other.outcome(b.id).value());
  CHECK(won(append(other, b)).events.size() == 1);
  won(append(other, make_batch({})));
}

TEST_CASE(
    "postgres journal: snapshots wait for no standby, and what does wait "
    "keeps nobody from reading (case 161)",
    "[postgres][journal]") {
  postgres_server server;
  migrated_schema schema{server.url()};
  auto opened = open_postgres_journal(
      schema.url() + "%20-clock_timeout%3D0%20-cstatement_timeout%3D0",
      {1h, 2s});
  REQUIRE(opened);
  auto& store = *opened.value();
  won(append(store, one("a:1")));
  set_standbys(server.url(), "nobody");
  std::atomic<int> granted = 0;
  std::vector<std::thread> keepers;
  for (int i = 0; i < 6; ++i)
    keepers.emplace_back([&] {
      if (store.acquire_lease("h", 10s))
        ++granted;
    });
  CHECK(test::eventually([&] {
    return ask(server.url(),
               "select count(*) from pg_stat_activity where "
               "wait_event = 'SyncRep'") == "1";
  }));
  CHECK(store.save_snapshot("a:1", {1, 1, "{}"}));
  CHECK(store.load_snapshot("a:1"));
  CHECK(store.read_all(0, 10));
  set_standbys(server.url(), "");
  for (auto& t : keepers)
    t.join();
  CHECK(granted == 6);
}

TEST_CASE(
    "postgres journal: what is acknowledged is on the disk, where the server "
    "acknowledges too early",
    "[postgres][journal]") {
  migrated_schema schema;
  auto store = open_store(schema.url() + "%20-csynchronous_commit%3Doff");
  run_script(schema.url(),
             "create table seen (mode text not null); "
             "create function see() returns trigger language plpgsql as $$ "
             "begin insert into seen values "
             "(current_setting('synchronous_commit')); return null; end $$; "
             "create trigger see after insert on commits "
             "for each statement execute function see()");
  won(append(*store, one("a:1")));
  CHECK(ask(schema.url(), "select mode from seen") == "on");
}
