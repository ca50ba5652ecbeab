// EVENTING 1.4: the tailing projector leaves nothing out and repeats nothing.
#include "base/fault_point.hpp"
#include "projections/checkpoint.hpp"
#include "projections/tailer.hpp"
#include "tests/postgres/read_models.hpp"
#include "tests/projections/spend_histories.hpp"

#include <thread>

using namespace bc;
using namespace bc::testing;
namespace ev = bc::events;

namespace {

std::string in(const postgres_models& models, const std::string& sql) {
  return ask(models.schema.url(), sql);
}

// Of a type this program does not know.
ev::event_write strange_event(const ev::join_token::created& token) {
  auto write = ev::join_token::encode(token);
  write.type = "security.join-token.painted";
  write.effect = {};
  return write;
}

// Of a row that is there already: it can be read, and does not fit.
ev::event_write second_time(const ev::join_token::created& token) {
  auto write = ev::join_token::encode(token);
  write.effect = {};
  return write;
}

}  // namespace

TEST_CASE("tailer: the same events make the same rows on both databases",
          "[postgres]") {
  followed_store f;
  f.random_history(250);
  f.models.settle(*f.store);
  CHECK(f.models.checksum() == f.checksum());
  auto head = f.store->head().value().position;
  REQUIRE(head > 200);
  CHECK(f.models.rebuild(*f.store) == head);
  CHECK(f.models.checksum() == f.checksum());
  auto rebuilt = projections::rebuild(*f.store_fixture::connect(), *f.store);
  REQUIRE(rebuilt);
  CHECK(f.models.checksum() == f.checksum());
}

TEST_CASE("tailer: the uses of tokens in a group make the same rows",
          "[postgres]") {
  auto make = GENERATE(&uses_and_an_expiry, &overspent, &used_before_made);
  store_fixture f;
  make(f);
  auto parked = ask(*f.connect(), parked_there);
  postgres_models models;
  models.follow(*f.store);
  models.settle(*f.store);
  models.tailers.clear();
  CHECK(models.checksum() == f.checksum());
  CHECK(in(models, std::string{parked_there}) == parked);
  models.rebuild(*f.store);
  CHECK(models.checksum() == f.checksum());
  CHECK(in(models, std::string{parked_there}) == parked);
}

TEST_CASE("tailer: a poison event parks its stream, the others go on",
          "[postgres]") {
  followed_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto unknown = f.add_token(tenant, pool, site, 5);
  auto twice = f.add_token(tenant, pool, site, 5);
  auto good = f.add_token(tenant, pool, site, 5);
  f.append({f.on(stream_of(unknown.id), tenant, {strange_event(unknown)})});
  f.append({f.on("join_token:other", tenant, {second_time(twice)})});
  f.join(unknown);
  f.join(good);
  f.models.settle(*f.store);
  CHECK(in(f.models, "select count(*) from nodes") == "2");
  CHECK(in(f.models,
           "select string_agg(uses_left::text, '' order by uses_left) "
           "from join_tokens") == "455");
  CHECK(in(f.models, "select count(*) from parked_streams") == "2");
  CHECK(f.models.checksum() == f.checksum());

  auto& t = *f.models.tailers[0];
  CHECK(test::eventually([&] { return t.stats().parked == 2; }));
  CHECK(t.stats().position == f.store->head().value().position);
  CHECK(t.stats().last_fault == std::nullopt);
  CHECK(
      f.models.was_alarmed_of(stream_of(unknown.id) + " is parked at event 7"));
  CHECK(f.models.was_alarmed_of("join_token:other is parked at event 8"));
  CHECK(f.models.alarms().size() == 2);
}

TEST_CASE("tailer: a whole journal behind, poison in the middle of a group",
          "[postgres]") {
  store_fixture f;
  f.random_history(120);
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 9);
  f.append({f.on("join_token:other", tenant, {second_time(token)})});
  f.join(token);
  f.random_history(60);
  postgres_models models;
  models.follow(*f.store);
  models.settle(*f.store);
  CHECK(models.checksum() == f.checksum());
  models.tailers.clear();
}

TEST_CASE(
    "tailer: before and after its commit a fault repeats nothing "
    "(EVENTING 3)",
    "[postgres]") {
  followed_store f;
  f.random_history(20);
  for (auto point : {fault_point::projector_before_commit,
                     fault_point::projector_after_commit})
    for (int i = 0; i < 3; ++i) {
      arm(point, fault_action::error);
      f.random_history(5);
      f.models.settle(*f.store);
      CHECK(f.models.checksum() == f.checksum());
    }
  disarm_all();
  CHECK(test::eventually(
      [&] { return !f.models.tailers[0]->stats().last_fault; }));
}

TEST_CASE("tailer: its connection lost at any step loses and repeats nothing",
          "[postgres]") {
  followed_store f;
  std::atomic<bool> done{false};
  std::thread killer{[&] {
    for (int i = 0; !done; ++i) {
      auto db = postgres::connection::open(f.models.schema.url());
      if (db)
        static_cast<void>(db.value()->execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where "
            "application_name = '" +
            f.models.schema.name() + "-tailer'"));
      std::this_thread::sleep_for(milliseconds{1 + i % 7});
    }
  }};
  for (int i = 0; i < 30; ++i)
    f.random_history(10);
  done = true;
  killer.join();
  CHECK(f.models.was_alarmed_of("cannot be reached"));
  f.models.settle(*f.store);
  CHECK(f.models.checksum() == f.checksum());
  CHECK(in(f.models, "select count(*) from parked_streams") == "0");
}

TEST_CASE("tailer: two that both believe in their lease do not apply twice",
          "[postgres]") {
  followed_store f;
  f.models.follow(*f.store);
  f.models.follow(*f.store);
  for (int i = 0; i < 20; ++i) {
    f.random_history(10);
    for (const auto& t : f.models.tailers)
      t->wake();
  }
  f.models.settle(*f.store);
  CHECK(f.models.checksum() == f.checksum());
}

TEST_CASE("tailer: one whose lease was taken writes nothing", "[postgres]") {
  store_fixture f;
  f.random_history(5);
  postgres_models models;
  models.follow(*f.store, 6);
  auto& stale = *models.tailers[0];
  CHECK(test::eventually([&] { return stale.stats().head > 0; }));
  stale.wake();
  std::this_thread::sleep_for(milliseconds{100});
  CHECK(in(models, "select position from projection_checkpoint") == "0");
  CHECK(in(models, "select count(*) from tenants") == "0");
  models.follow(*f.store, 7);
  models.settle(*f.store);
  CHECK(models.checksum() == f.checksum());
  // It sees how far the other is.
  CHECK(test::eventually([&] {
    return stale.stats().position == f.store->head().value().position;
  }));
  models.tailers.clear();
}

TEST_CASE("tailer: tables that are not as they must be park nobody",
          "[postgres]") {
  followed_store f;
  f.random_history(10);
  f.models.settle(*f.store);
  run_script(f.models.schema.url(),
             "alter table pools rename column name to title");
  auto tenant = f.add_tenant();
  auto pool = f.add_pool(tenant, f.add_site(tenant));
  auto& t = *f.models.tailers[0];
  t.wake();
  CHECK(test::eventually([&] {
    auto why = t.stats().last_fault;
    return why && why->message.find("projections rebuild") != std::string::npos;
  }));
  CHECK(f.models.was_alarmed_of("projections rebuild"));
  CHECK(in(f.models, "select count(*) from parked_streams") == "0");
  f.models.rebuild(*f.store);
  f.models.settle(*f.store);
  CHECK(f.models.checksum() == f.checksum());
  CHECK(test::eventually([&] { return !t.stats().last_fault; }));
}

TEST_CASE("tailer: read models ahead of the journal are told of, not kept",
          "[postgres]") {
  followed_store f;
  f.random_history(5);
  f.models.settle(*f.store);
  // As after the journal alone was restored from a backup.
  run_script(f.models.schema.url(),
             "update projection_checkpoint set position = 100000");
  auto& t = *f.models.tailers[0];
  CHECK(test::eventually([&] {
    auto why = t.stats().last_fault;
    return why &&
           why->message.find("ahead of the journal") != std::string::npos;
  }));
  f.models.rebuild(*f.store);
  CHECK(f.models.checksum() == f.checksum());
  CHECK(test::eventually([&] { return !t.stats().last_fault; }));
}

TEST_CASE("tailer: rows of a newer program are left as they are",
          "[postgres]") {
  followed_store f;
  f.random_history(20);
  f.models.settle(*f.store);
  auto sum = f.models.checksum();
  // A newer program's rebuild, between this one's looks.
  auto version = std::to_string(projections::written_version + 1);
  run_script(f.models.schema.url(),
             "update projection_checkpoint set version = " + version);
  auto& t = *f.models.tailers[0];
  for (int i = 0; i < 3; ++i) {
    f.add_tenant();
    t.wake();
    auto head = f.store->head().value().position;
    CHECK(test::eventually([&] { return t.stats().head == head; }));
  }
  CHECK(f.models.checksum() == sum);
  CHECK(in(f.models, "select version from projection_checkpoint") == version);
  REQUIRE(f.models.warnings().size() == 1);
  CHECK_THAT(f.models.warnings()[0],
             Catch::Contains("are of version " + version) &&
                 Catch::Contains("restart with the program that wrote them"));
  CHECK(f.models.alarms().empty());
  CHECK(t.stats().last_fault == std::nullopt);

  // Until they are this program's again.
  f.models.rebuild(*f.store);
  f.add_tenant();
  f.models.settle(*f.store);
  CHECK(f.models.checksum() == f.checksum());
}

TEST_CASE("tailer: the version is compared where the group is applied",
          "[postgres]") {
  followed_store f;
  f.random_history(20);
  f.models.settle(*f.store);
  auto sum = f.models.checksum();
  // As the swap of a newer program's rebuild, for which the tailer waits.
  auto swap = testing::connect(f.models.schema.url());
  REQUIRE(swap->execute(
      "begin; update projection_checkpoint set version = version + 1"));
  f.add_tenant();
  f.models.tailers[0]->wake();
  CHECK(test::eventually([&] {
    return in(f.models,
              "select count(*) from pg_stat_activity where wait_event_type = "
              "'Lock' and application_name = '" +
                  f.models.schema.name() + "-tailer'") == "1";
  }));
  REQUIRE(swap->execute("commit"));
  CHECK(test::eventually([&] { return f.models.warnings().size() == 1; }));
  CHECK(f.models.checksum() == sum);
}

TEST_CASE("tailer: a server that restarts is followed again", "[postgres]") {
  postgres_server server;
  postgres_schema schema{server.url()};
  REQUIRE(ev::migrate_postgres(schema.url()));
  run_script(schema.url(),
             "insert into lease values (1, 'test', 7, 9000000000000000)");
  store_fixture f;
  f.random_history(10);
  auto t = projections::tailer::start({schema.url(), *f.store,
                                       [] { return std::optional{7UL}; },
                                       milliseconds{20}});
  auto there = [&] {
    return t->stats().position == f.store->head().value().position &&
           !t->stats().last_fault;
  };
  CHECK(test::eventually(there));
  server.stop();
  f.random_history(10);
  t->wake();
  CHECK(test::eventually([&] { return t->stats().last_fault.has_value(); }));
  server.start();
  CHECK(test::eventually(there));
  auto db = testing::connect(schema.url());
  CHECK(projections::checksum(*db).value() == f.checksum());
  t->stop();
  t->stop();
}
