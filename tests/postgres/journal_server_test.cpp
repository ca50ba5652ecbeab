// A server that goes away, comes back, or changes its role; each test has one
// of its own.
#include "tests/support/journal_suite.hpp"
#include "tests/support/known_outcome.hpp"
#include "tests/support/postgres_store.hpp"

#include <atomic>
#include <thread>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;
using namespace bc::testing;

TEST_CASE(
    "postgres journal: a server restarted under load loses and repeats "
    "nothing (cases 159, 162)",
    "[postgres][journal]") {
  postgres_server server;
  migrated_schema schema{server.url()};
  auto first = open_store(schema.url());
  auto second = open_store(schema.url());
  constexpr int writers = 6, each = 40;
  won(append(*first, one("t:1", budgeting(open_budget("jt", 10'000)))));
  std::atomic<int> count{0};
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      auto& j = w % 2 == 0 ? *first : *second;
      for (int i = 0; i < each; ++i, ++count) {
        auto node = "n:" + std::to_string(w) + "-" + std::to_string(i);
        insist(j, make_batch({on("t:1", {budgeting(spend("jt"))}),
                              on(node, {event()}, 0)}));
      }
    });
  for (int restart = 1; restart <= 3; ++restart) {
    while (count < restart * writers * each / 4)
      std::this_thread::sleep_for(1ms);
    server.restart("immediate");
  }
  for (auto& t : threads)
    t.join();
  CHECK(first->head().value().position == 1 + 2 * writers * each);
  CHECK(first->read_stream("t:1", 0, 10'000).value().size() ==
        1 + writers * each);
  check_verifies(*first);
}

TEST_CASE(
    "postgres journal: no call fails for a connection that went stale "
    "(case 162)",
    "[postgres][journal]") {
  postgres_server server;
  migrated_schema schema{server.url()};
  auto store = open_store(schema.url());
  auto everywhere = [&](const std::string& name) {
    std::atomic<int> faults{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; ++i)
      threads.emplace_back([&, i] {
        auto read = store->read_all(0, 10);
        auto done = store->append(std::vector{one(name + std::to_string(i))});
        faults += read && done ? 0 : 1;
      });
    for (auto& t : threads)
      t.join();
    return faults.load();
  };
  CHECK(everywhere("a:") == 0);
  server.restart(GENERATE(as<std::string>{}, "fast", "immediate"));
  CHECK(everywhere("b:") == 0);
  CHECK(store->head().value().position == 40);
}

TEST_CASE(
    "postgres journal: a server that is down is UNAVAILABLE until it is "
    "back",
    "[postgres][journal]") {
  postgres_server server;
  migrated_schema schema{server.url()};
  auto store = open_store(schema.url());
  auto b = one("a:1");
  won(append(*store, b));
  server.stop();
  CHECK(store->append(std::vector{one("a:1")}).error().code ==
        errc::unavailable);
  CHECK(store->outcome(b.id).error().code == errc::unavailable);
  CHECK(store->head().error().code == errc::unavailable);
  CHECK(store->acquire_lease("p", 5s).error().code == errc::unavailable);
  CHECK(open_postgres_journal(schema.url()).error().code == errc::unavailable);
  server.start();
  CHECK(store->outcome(b.id).value());
  won(append(*store, one("a:1")));
  CHECK(store->head().value().position == 2);
}

TEST_CASE(
    "postgres journal: a server that was made read-only is UNAVAILABLE, "
    "and works again when it is not (case 161)",
    "[postgres][journal]") {
  postgres_server server;
  migrated_schema schema{server.url()};
  auto store = open_store(schema.url());
  won(append(*store, one("a:1")));
  auto admin = server.url() + "&options=-cdefault_transaction_read_only%3Doff";
  auto set = [&](const std::string& value) {
    run_script(admin,
               "alter system set default_transaction_read_only = " + value);
    run_script(admin, "select pg_reload_conf()");
    while (ask(server.url() + "&target_session_attrs=any",
               "show default_transaction_read_only") != value)
      std::this_thread::sleep_for(10ms);
  };
  set("on");
  // The writer's own session hears of it when it is next idle.
  for (;;) {
    auto done = store->append(std::vector{one("a:1")});
    if (!done) {
      CHECK(done.error().code == errc::unavailable);
      break;
    }
  }
  CHECK(store->append(std::vector{one("a:1")}).error().code ==
        errc::unavailable);
  set("off");
  won(append(*store, one("b:1", event(), 0)));
  check_verifies(*store);
}
