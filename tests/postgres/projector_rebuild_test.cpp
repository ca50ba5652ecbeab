// DESIGN section 5: the read models are rebuilt while everything runs.
#include "projections/checkpoint.hpp"
#include "projections/projector.hpp"
#include "projections/tables.hpp"
#include "tests/postgres/read_models.hpp"

#include <thread>

using namespace bc;
using namespace bc::testing;
namespace ev = bc::events;

namespace {

// Every table and index there is, with its columns.
std::string layout_of(const postgres_models& models) {
  return ask(models.schema.url(),
             "select string_agg(line, E'\\n' order by line) from ("
             " select indexdef as line from pg_indexes"
             " where schemaname = current_schema()"
             " union all"
             " select table_name || ' ' || column_name || ' ' || data_type ||"
             " ' ' || is_nullable || ' ' || coalesce(collation_name, '')"
             " || coalesce(column_default, '')"
             " from information_schema.columns"
             " where table_schema = current_schema()"
             " union all"
             " select conrelid::regclass || ' ' || conname ||"
             " pg_get_constraintdef(oid) from pg_constraint"
             " where connamespace = current_schema()::regnamespace) all_lines");
}

/// A connection of `better-compute projections rebuild`, seen from outside.
class watched_connection final : public sql::connection {
 public:
  explicit watched_connection(const postgres_models& models)
      : inner_(testing::connect(models.schema.url() + "&application_name=" +
                                    models.schema.name() + "-rebuild",
                                postgres::patience::endless)) {}

  sql::dialect kind() const override { return inner_->kind(); }
  result<sql::statement> prepare(std::string_view sql) override {
    return inner_->prepare(sql);
  }
  result<void> execute(const std::string& script) override {
    before_script(script);
    return inner_->execute(script);
  }
  std::int64_t changes() const override { return inner_->changes(); }
  bool in_transaction() const override { return inner_->in_transaction(); }
  void begin_pipeline() override {
    ++pipelines;
    inner_->begin_pipeline();
  }
  result<void> flush() override { return inner_->flush(); }
  result<void> expect_changes(std::int64_t rows) override {
    return inner_->expect_changes(rows);
  }

  std::function<void(const std::string&)> before_script = [](const auto&) {};
  int pipelines = 0;

 private:
  std::unique_ptr<postgres::connection> inner_;
};

}  // namespace

TEST_CASE("rebuild: rows are identical while writers and the tailer go on",
          "[postgres]") {
  postgres_store f;
  f.random_history(100);
  f.models.follow(*f.store);
  f.models.settle(*f.store);
  auto layout = layout_of(f.models);

  std::atomic<bool> done{false};
  std::atomic<int> faults{0}, reads{0}, backwards{0};
  std::thread writer{[&] {
    while (!done)
      f.random_history(5);
  }};
  std::thread reader{[&] {
    auto q = f.models.queries();
    std::uint64_t seen = 0;
    while (!done) {
      auto position = q->position();
      auto page = q->list_tenants("", 10);
      // The first tenant never goes away.
      if (!position || !page || page.value().items.empty())
        ++faults;
      else if (position.value() < seen)
        ++backwards;
      else
        seen = position.value();
      ++reads;
    }
  }};
  for (int i = 0; i < 4; ++i) {
    auto before = f.store->head().value().position;
    CHECK(f.models.rebuild(*f.store) >= before);
  }
  CHECK(test::eventually([&] { return reads > 20; }));
  done = true;
  writer.join();
  reader.join();
  CHECK(faults == 0);
  CHECK(backwards == 0);

  f.models.settle(*f.store);
  auto sum = f.models.checksum();
  f.models.tailers.clear();
  CHECK(f.models.rebuild(*f.store) == f.store->head().value().position);
  CHECK(f.models.checksum() == sum);
  CHECK(layout_of(f.models) == layout);
  CHECK(ask(f.models.schema.url(), "select count(*) from parked_streams") ==
        "0");
}

TEST_CASE(
    "rebuild: repairs rows that were altered, lost or made up, on "
    "Postgres",
    "[postgres]") {
  postgres_store f;
  f.random_history(60);
  f.models.follow(*f.store);
  f.models.settle(*f.store);
  f.models.tailers.clear();
  auto sum = f.models.checksum();
  auto layout = layout_of(f.models);
  for (const std::string damage :
       {"update join_tokens set uses_left = uses_left + 1",
        "delete from tenants",
        "insert into tenants values ('ten_x', 'made up', 0, 0)",
        "update projection_checkpoint set position = 3",
        "delete from projection_checkpoint", "drop table projection_checkpoint",
        "alter table projection_checkpoint drop column version",
        "drop table pools; create table pools (id text)", "drop table nodes",
        "create table tenants__new (id text)"}) {
    INFO(damage);
    run_script(f.models.schema.url(), damage);
    f.models.rebuild(*f.store);
    CHECK(f.models.checksum() == sum);
    CHECK(layout_of(f.models) == layout);
  }
}

TEST_CASE("rebuild: a stream that can be applied now is parked no more",
          "[postgres]") {
  postgres_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto healed = f.add_token(tenant, pool, site, 5);
  auto bad = f.add_token(tenant, pool, site, 5);
  auto strange = ev::join_token::encode(bad);
  strange.type = "security.join-token.painted";
  strange.effect = {};
  f.append({f.on(stream_of(bad.id), tenant, {strange})});
  // As an older program left it, that did not know the event yet.
  run_script(f.models.schema.url(), "insert into parked_streams values ('" +
                                        stream_of(healed.id) +
                                        "', 4, 'not known')");
  f.models.follow(*f.store);
  f.join(healed);
  f.models.settle(*f.store);
  auto uses =
      "select uses_left from join_tokens where id = '" + healed.id.str() + "'";
  auto rows =
      "select count(*) from join_tokens where id = '" + healed.id.str() + "'";
  CHECK(ask(f.models.schema.url(), rows) == "0");

  f.models.rebuild(*f.store);
  CHECK(ask(f.models.schema.url(), uses) == "4");
  // And its next events are applied, though the checkpoint did not move.
  f.join(healed);
  f.models.settle(*f.store);
  CHECK(ask(f.models.schema.url(), uses) == "3");
  CHECK(ask(f.models.schema.url(),
            "select stream || ' ' || position from parked_streams") ==
        stream_of(bad.id) + " 6");
}

TEST_CASE("rebuild: a store from before the audit is brought to it",
          "[postgres]") {
  postgres_store f;
  f.random_history(80);
  f.models.follow(*f.store);
  f.models.settle(*f.store);
  f.models.tailers.clear();
  auto sum = f.models.checksum();
  auto layout = layout_of(f.models);
  run_script(f.models.schema.url(),
             "drop table audit; drop table refused_joins;"
             "alter table nodes drop column trust, drop column acceptance,"
             " drop column cordoned_at, drop column cordon_reason,"
             " drop column retired_at, drop column clone_suspected_at,"
             " drop column session, drop column session_gateway,"
             " drop column session_address, drop column session_version,"
             " drop column connected_at, drop column disconnected_at,"
             " drop column disconnect_reason,"
             " drop column acceptance_started_at,"
             " drop column acceptance_failed_at, drop column failed_checks,"
             " drop column warn_at, drop column token,"
             " drop column certificate_ends,"
             " drop column hardware_changed_at,"
             " drop column hardware_taken_at, drop column ek_hash,"
             " drop column changed_identifiers;"
             "alter table join_requests drop column joined_as,"
             " drop column superseded_at;"
             "drop index if exists nodes_by_site;"
             "alter table node_certs drop column revoked_for,"
             " drop column revoked_position;"
             "alter table projection_checkpoint drop column version;"
             "delete from schema_version where version > 3");
  auto url = f.models.schema.url();
  auto nodes = ask(url, "select count(*) from nodes");
  REQUIRE(nodes != "0");
  auto migrated = events::migrate_postgres(url);
  REQUIRE(migrated);
  CHECK(migrated.value().rose);
  CHECK(layout_of(f.models) == layout);
  // Lists go on with what there is.
  CHECK(ask(url, "select count(*) from nodes") == nodes);

  // Where it was cut off here, nobody adds to such rows, and no server starts.
  f.models.follow(*f.store);
  CHECK(test::eventually([&] { return f.models.warnings().size() == 1; }));
  CHECK_THAT(f.models.warnings()[0],
             Catch::Contains("version 0") &&
                 Catch::EndsWith("run better-compute migrate"));
  auto opened = projections::open_postgres_queries(url);
  REQUIRE(!opened);
  CHECK(opened.error().code == errc::invalid_state);
  CHECK(opened.error().message == f.models.warnings()[0]);
  auto again = events::migrate_postgres(url);
  REQUIRE(again);
  CHECK(!again.value().rose);

  auto db = testing::connect(url);
  REQUIRE(projections::renew(*db, *f.store, again.value().rose));
  CHECK(f.models.checksum() == sum);
  CHECK(projections::open_postgres_queries(url));
  f.add_tenant();
  f.models.settle(*f.store);
  CHECK(f.models.checksum() != sum);
}

TEST_CASE("renew: of a store with events that was migrated, or of older rows",
          "[postgres]") {
  postgres_store f;
  auto url = f.models.schema.url();
  auto db = testing::connect(url);
  auto renews = [&](const std::string& version, bool migrated) {
    run_script(url, "update projection_checkpoint set version = " + version +
                        "; delete from audit");
    REQUIRE(projections::renew(*db, *f.store, migrated));
    return ask(url, "select count(*) > 0 from audit") == "t";
  };
  CHECK(!renews("0", true));  // no events
  CHECK(ask(url, "select version from projection_checkpoint") == "0");
  f.random_history(20);
  f.models.follow(*f.store);
  f.models.settle(*f.store);
  f.models.tailers.clear();
  auto ours = std::to_string(projections::written_version);
  auto newer = std::to_string(projections::written_version + 1);
  CHECK(ask(url, "select version from projection_checkpoint") == ours);
  CHECK(!renews(ours, false));
  CHECK(renews(ours, true));
  CHECK(renews("0", false));
  CHECK(ask(url, "select version from projection_checkpoint") == ours);
  // An old program's `migrate` while servers are restarted with a new one.
  CHECK(!renews(newer, false));
}

TEST_CASE("rebuild: two at once are not", "[postgres]") {
  postgres_store f;
  f.random_history(5);
  auto other = testing::connect(f.models.schema.url());
  REQUIRE(other->execute(
      "select pg_advisory_lock(8210, hashtext(current_schema()))"));
  auto db = testing::connect(f.models.schema.url());
  auto refused = projections::rebuild(*db, *f.store);
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::invalid_state);
  other.reset();
  bool free = test::eventually(
      [&] { return bool(projections::rebuild(*db, *f.store)); });
  CHECK(free);
}

TEST_CASE("rebuild: waits for a long reader, and lets others by meanwhile",
          "[postgres]") {
  postgres_store f;
  f.random_history(10);
  f.models.follow(*f.store);
  f.models.settle(*f.store);
  auto sum = f.models.checksum();
  auto long_reader = testing::connect(f.models.schema.url());
  REQUIRE(long_reader->execute("begin; select count(*) from tenants"));
  std::thread rebuilding{[&] { f.models.rebuild(*f.store); }};
  auto q = f.models.queries();
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(milliseconds{300});
    CHECK(q->list_tenants("", 10));
    REQUIRE(long_reader->execute("select 1"));
  }
  REQUIRE(long_reader->execute("commit"));
  rebuilding.join();
  CHECK(f.models.checksum() == sum);
}

TEST_CASE("rebuild: the server ends a swap that stands still", "[postgres]") {
  postgres_store f;
  f.random_history(20);
  f.models.follow(*f.store);
  f.models.settle(*f.store);
  const auto url = f.models.schema.url();
  auto layout = layout_of(f.models);
  auto sum = f.models.checksum();
  auto rebuilding =
      "select count(*) from pg_stat_activity where application_name = '" +
      f.models.schema.name() + "-rebuild'";
  // With the new tables in their place, or with all of it done but the end.
  auto at = GENERATE(as<std::string>{}, "delete from parked_streams", "commit");
  watched_connection db{f.models};
  bool in_swap = false, was_ended = false;
  db.before_script = [&](const std::string& script) {
    in_swap = in_swap || script.starts_with("set local idle");
    if (in_swap && script == at)
      was_ended = test::eventually([&] { return ask(url, rebuilding) == "0"; });
  };

  auto done = projections::rebuild(db, *f.store, milliseconds{1'500});
  CHECK(was_ended);
  REQUIRE(!done);
  CHECK(done.error().code == errc::unavailable);
  CHECK(done.error().message ==
        "the database ended a transaction that stood still");
  CHECK(f.models.checksum() == sum);
  CHECK(f.models.queries()->list_tenants("", 10));
  f.add_tenant();
  f.models.settle(*f.store);
  f.models.rebuild(*f.store);
  f.models.settle(*f.store);
  CHECK(layout_of(f.models) == layout);
}

TEST_CASE("rebuild: no pipeline in the swap, where the server would wait",
          "[postgres]") {
  postgres_store f;
  f.random_history(20);
  f.models.follow(*f.store);
  f.models.settle(*f.store);
  watched_connection db{f.models};
  bool in_swap = false;
  int before = 0;
  db.before_script = [&](const std::string& script) {
    if (!script.starts_with("set local idle"))
      return;
    // For the swap to catch up with.
    f.random_history(30);
    in_swap = true;
    before = db.pipelines;
  };
  auto done = projections::rebuild(db, *f.store);
  REQUIRE(done);
  CHECK(in_swap);
  CHECK(before > 0);
  CHECK(db.pipelines == before);
  CHECK(done.value() == f.store->head().value().position);
  auto sum = f.models.checksum();
  f.models.tailers.clear();
  f.models.rebuild(*f.store);
  CHECK(f.models.checksum() == sum);
}
