// The SQL connection layer over libpq (events/postgres.hpp).
#include "events/postgres.hpp"
#include "events/postgres_trust.hpp"
#include "events/sql_transaction.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/postgres.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

using namespace bc;
using namespace bc::testing;
using postgres::connection;
using namespace std::chrono_literals;

namespace {

/// The fault of a statement that must have one.
fault fault_of(connection& db, std::string_view sql) {
  auto query = db.prepare(sql);
  if (!query)
    return query.error();
  auto row = query.value().step();
  REQUIRE(!row);
  return row.error();
}

std::int64_t number_of(connection& db, std::string_view sql) {
  auto query = db.prepare(sql);
  REQUIRE(query);
  auto row = query.value().step();
  if (!row)
    FAIL(row.error().message << " " << row.error().detail);
  return query.value().number(0);
}

/// A function fail(state) that raises this SQLSTATE.
void make_fail(connection& db) {
  REQUIRE(
      db.execute("create function fail(state text) returns int language "
                 "plpgsql as $$ begin raise exception 'forced' using "
                 "errcode = state; end $$"));
}

}  // namespace

TEST_CASE("postgres: values go in and come out as they are", "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  REQUIRE(
      db->execute("create table t (id bigint, name text, x bigint);"
                  "create index on t (id)"));
  auto insert = db->prepare("insert into t (id, name, x) values (?, ?, ?)");
  REQUIRE(insert);
  std::string text = "quote ' back \\ ? line\n {\"a\":1} \xc3\xa4";
  insert.value().bind(1, std::int64_t{-9'000'000'000}).bind(2, text);
  insert.value().bind_null(3);
  REQUIRE(insert.value().run());
  CHECK(db->changes() == 1);

  auto query = db->prepare(
      "select id, name, x, '?', name = ?1 from t where name = ?1 or id = ?2");
  REQUIRE(query);
  query.value().bind(1, text).bind(2, std::int64_t{7});
  REQUIRE(query.value().step().value());
  CHECK(query.value().number(0) == -9'000'000'000);
  CHECK(query.value().text(1) == text);
  CHECK(query.value().is_null(2));
  CHECK(query.value().text(3) == "?");
  CHECK(query.value().number(4) == 1);
  CHECK(!query.value().step().value());
  CHECK(!query.value().step().value());
}

TEST_CASE("postgres: a question mark in quotes or comments is no parameter",
          "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  auto query = db->prepare(
      "select '?''?', \"?\", $x$ ? $x$, cast(? as bigint) -- ?\n"
      "from (select 1 as \"?\") q /* ? */ where 1 = ?");
  REQUIRE(query);
  query.value().bind(1, std::int64_t{5}).bind(2, std::int64_t{1});
  REQUIRE(query.value().step().value());
  CHECK(query.value().text(0) == "?'?");
  CHECK(query.value().text(2) == " ? ");
  CHECK(query.value().number(3) == 5);
}

TEST_CASE(
    "postgres: the session is in UTC whatever the database says (case 17)",
    "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url() + "%20-cTimeZone%3DPacific%2FKiritimati");
  auto zone = db->prepare("show timezone");
  REQUIRE(zone);
  REQUIRE(zone.value().step());
  CHECK(zone.value().text(0) == "UTC");
}

TEST_CASE(
    "postgres: what may pass is UNAVAILABLE, the rest INTERNAL (case 160)",
    "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  make_fail(*db);
  auto state = GENERATE(as<std::string>{}, "40001", "40P01", "55P03", "57014",
                        "53100", "53300", "53200");
  CAPTURE(state);
  auto passing = fault_of(*db, "select fail('" + state + "')");
  CHECK(passing.code == errc::unavailable);
  CHECK(passing.detail.find(state) != std::string::npos);
  CHECK(passing.message.find("forced") == std::string::npos);
  CHECK(db->state() == state);
  CHECK(db->is_alive());
  auto other = fault_of(*db, "select fail('23505')");
  CHECK(other.code == errc::internal);
  CHECK(other.message.find("forced") == std::string::npos);
  CHECK(number_of(*db, "select 1") == 1);
}

TEST_CASE("postgres: a lost or read-only connection is dead (cases 161, 162)",
          "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  make_fail(*db);
  auto state = GENERATE(as<std::string>{}, "08006", "57P01", "25006");
  CAPTURE(state);
  CHECK(fault_of(*db, "select fail('" + state + "')").code ==
        errc::unavailable);
  CHECK(!db->is_alive());
  CHECK(fault_of(*db, "select 1").code == errc::unavailable);
  CHECK(db->execute("select 1").error().code == errc::unavailable);
}

// On a local socket they are not in force, so that only what was asked for can
// be seen.
TEST_CASE("postgres: the server looks for a machine that is gone",
          "[postgres]") {
  auto db = connect(shared_postgres_url());
  auto asked = [&](const std::string& name) {
    auto s = db->prepare("select reset_val from pg_settings where name = ?");
    REQUIRE(s.value().bind(1, name).step());
    return s.value().text(0);
  };
  CHECK(asked("tcp_keepalives_idle") == "10");
  CHECK(asked("tcp_keepalives_interval") == "5");
  CHECK(asked("tcp_keepalives_count") == "3");
  CHECK(asked("tcp_user_timeout") == "10000");
}

TEST_CASE("postgres: a backend that is ended makes its connection dead",
          "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  auto pid = number_of(*db, "select pg_backend_pid()");
  run_script(schema.url(),
             "select pg_terminate_backend(" + std::to_string(pid) + ", 5000)");
  CHECK(fault_of(*db, "select 1").code == errc::unavailable);
  CHECK(!db->is_alive());
}

TEST_CASE(
    "postgres: calls of one round trip run in order, up to the first "
    "that fails",
    "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  REQUIRE(db->execute("create table t (id bigint primary key, name text)"));
  postgres::number_array ids;
  postgres::text_array names;
  for (int i = 1; i <= 3; ++i) {
    ids.add(i);
    i == 2 ? names.add_null() : names.add("n" + std::to_string(i));
  }
  auto before = postgres::round_trips();
  std::vector<postgres::call> calls{
      {"begin"},
      {"insert into t select * from unnest($1::bigint[], $2::text[])",
       {ids.take(), names.take()}},
      {"select id, name from t order by id"},
      {"commit"}};
  auto answers = db->run(calls);
  if (!answers)
    FAIL(answers.error().detail);
  CHECK(postgres::round_trips() == before + 1);
  REQUIRE(answers.value().size() == 4);
  CHECK(answers.value()[1].changed() == 3);
  CHECK(answers.value()[2].number(2, 0) == 3);
  CHECK(answers.value()[2].is_null(1, 1));
  CHECK(answers.value()[2].text(2, 1) == "n3");
  CHECK(!db->in_transaction());

  std::vector<postgres::call> failing{{"begin"},
                                      {"insert into t values (1, 'again')"},
                                      {"insert into t values (4, 'never')"},
                                      {"commit"}};
  auto failed = db->run(failing);
  REQUIRE(!failed);
  CHECK(failed.error().code == errc::internal);
  CHECK(db->state() == "23505");
  CHECK(db->in_transaction());
  REQUIRE(db->execute("rollback"));
  // What was prepared in vain is prepared again.
  CHECK(db->run(
      std::vector<postgres::call>{{"insert into t values (4, 'never')"}}));
  CHECK(number_of(*db, "select count(*) from t") == 4);
  postgres::text_array none;
  auto empty = db->run(std::vector<postgres::call>{
      {"select count(*) from unnest($1::text[])", {none.take()}}});
  REQUIRE(empty);
  CHECK(empty.value()[0].number(0, 0) == 0);
}

TEST_CASE(
    "postgres: a transaction is of its own isolation, whatever the default is",
    "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  REQUIRE(
      db->execute("create table t (id bigint); "
                  "set default_transaction_isolation = 'serializable'"));
  auto isolation = [&] {
    auto query =
        db->prepare("select current_setting('transaction_isolation')").value();
    REQUIRE(query.step().value());
    return query.text(0);
  };
  {
    sql::transaction t{*db};
    REQUIRE(t.begin());
    CHECK(isolation() == "read committed");
    REQUIRE(db->execute("insert into t values (1)"));
  }
  CHECK_FALSE(db->in_transaction());
  CHECK(number_of(*db, "select count(*) from t") == 0);
  {
    sql::transaction t{*db};
    REQUIRE(t.begin());
    REQUIRE(db->execute("insert into t values (2)"));
    REQUIRE(t.commit());
  }
  CHECK(number_of(*db, "select count(*) from t") == 1);
  sql::transaction t{*db};
  REQUIRE(t.begin_reading());
  CHECK(isolation() == "repeatable read");
  CHECK_FALSE(db->execute("insert into t values (3)"));
}

TEST_CASE("postgres: a commit of a failed transaction is a fault",
          "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  REQUIRE(db->execute("begin"));
  fault_of(*db, "select 1 / 0");
  auto done = GENERATE(true, false);
  if (done) {
    CHECK(fault_of(*db, "commit").code == errc::internal);
  } else {
    CHECK(!db->execute("commit"));
  }
  CHECK(!db->in_transaction());
}

TEST_CASE("postgres: a large round trip does not block on its own answers",
          "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  std::string large(4'000'000, 'x');
  std::vector<postgres::call> calls;
  for (int i = 0; i < 8; ++i)
    calls.push_back({"select $1::text", {std::string_view{large}}});
  auto answers = db->run(calls);
  if (!answers)
    FAIL(answers.error().detail);
  for (const auto& a : answers.value())
    CHECK(a.text(0, 0) == large);
}

TEST_CASE("postgres: a text that cannot be stored is a fault (case 142)",
          "[postgres]") {
  postgres_schema schema;
  auto db = connect(schema.url());
  auto query = db->prepare("select length(?)");
  REQUIRE(query);
  query.value().bind(1, std::string{"a\0b", 3});
  CHECK(query.value().step().error().code == errc::internal);
  CHECK(db->is_alive());
}

TEST_CASE(
    "postgres: a URL or login that cannot be right is INVALID_CONFIG, "
    "and the password is never repeated",
    "[postgres]") {
  auto refused = [](const std::string& url) {
    auto db = connection::open(url);
    REQUIRE(!db);
    auto f = db.error();
    for (const auto* text : {&f.message, &f.detail})
      CHECK(text->find("hunter2") == std::string::npos);
    return f.code;
  };
  CHECK(refused("postgres://u:hunter2%@h/db") == errc::invalid_config);
  CHECK(refused("postgres://u:hunter2@h/db?nonsense=1") ==
        errc::invalid_config);
  CHECK(refused("postgres://u:hunter2@/db?host=/nowhere") == errc::unavailable);
  CHECK(refused("postgres://u:hunter2@127.0.0.1:1/db") == errc::unavailable);
  auto here = shared_postgres_url();
  auto at = here.find("/postgres?");
  REQUIRE(at != std::string::npos);
  CHECK(refused(here.substr(0, at) + "/absent?" + here.substr(at + 10)) ==
        errc::invalid_config);
  CHECK(refused("postgres://nobody:hunter2@/postgres?" +
                here.substr(at + 10)) == errc::invalid_config);
}

TEST_CASE(
    "postgres: a login that a server is long in refusing is INVALID_CONFIG "
    "too",
    "[postgres]") {
  postgres_server server{
      "shared_buffers=32MB shared_preload_libraries=auth_delay "
      "auth_delay.milliseconds=1600"};
  const auto rules = server.dir() + "/data/pg_hba.conf";
  std::ofstream{rules} << "local all slow peer\nlocal all all trust\n";
  run_script(server.url(), "create role slow login");
  run_script(server.url(), "select pg_reload_conf()");
  auto url = server.url();
  url.replace(url.find("postgres@"), 8, "slow");
  errc why{};
  // The new rules come in their own time.
  REQUIRE(test::eventually([&] {
    auto db = connection::open(url);
    if (!db)
      why = db.error().code;
    return !db;
  }));
  CHECK(why == errc::invalid_config);
}

TEST_CASE("postgres: a server that talks without end is given up (case 161)",
          "[postgres]") {
  auto db = connect(shared_postgres_url());
  REQUIRE(db->execute("set statement_timeout = 0"));
  db->allow_silence(2s, 300ms);
  auto done = db->execute(
      "do $$ begin for i in 1..200 loop "
      "raise warning 'still here'; perform pg_sleep(0.1); end loop; end $$");
  REQUIRE(!done);
  CHECK(done.error().code == errc::unavailable);
  CHECK_FALSE(db->is_alive());
}

TEST_CASE("postgres: a server that is read-only is refused (case 161)",
          "[postgres]") {
  postgres_schema schema;
  auto read_only = schema.url() + "%20-cdefault_transaction_read_only%3Don";
  auto db = connection::open(read_only);
  REQUIRE(!db);
  CHECK(db.error().code == errc::unavailable);
  CHECK(connection::open(read_only + "&target_session_attrs=any"));
}

TEST_CASE("postgres: a server across a network is to show who it is",
          "[postgres]") {
  auto checks = [](const std::string& url) {
    return postgres::checks_server("postgres://" + url);
  };
  ::unsetenv("PGSSLMODE");
  ::unsetenv("PGHOST");
  CHECK(checks("u@/db?host=/run/postgresql"));
  CHECK(checks("u@localhost,127.0.0.1:5433,[::1]/db"));
  CHECK(checks("u@db-1,db-2/db?sslmode=verify-full"));
  CHECK(checks("u@db-1/db?sslmode=verify-ca"));
  CHECK_FALSE(checks("u@db-1/db"));
  CHECK_FALSE(checks("u@db-1/db?sslmode=require"));
  CHECK_FALSE(checks("u@localhost,db-2/db?sslmode=prefer"));
  CHECK_FALSE(checks("u@localhost/db?hostaddr=192.0.2.7"));
  CHECK_FALSE(checks("u@127.0.0.1.example.com/db"));
  CHECK_FALSE(checks("?service=prod"));
  CHECK_FALSE(checks("u@localhost/db?service=prod"));
  CHECK(checks("?service=prod&sslmode=verify-full"));
  ::setenv("PGSSLMODE", "verify-full", 1);
  CHECK(checks("u@db-1/db"));
  CHECK_FALSE(checks("u@db-1/db?sslmode=require"));
  // A service's own would stand over the environment's.
  CHECK_FALSE(checks("?service=prod"));
  ::unsetenv("PGSSLMODE");
  ::setenv("PGHOST", "db-1", 1);
  CHECK_FALSE(checks("u@/db"));
  ::unsetenv("PGHOST");
}
