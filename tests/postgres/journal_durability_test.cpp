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
