#pragma once

#include "events/postgres_journal.hpp"
#include "projections/projector.hpp"
#include "projections/queries.hpp"
#include "projections/tailer.hpp"
#include "tests/projections/store_fixture.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/postgres.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// Read models in Postgres, kept by a tailer.
namespace bc::testing {

/// A store in a schema of its own, and a tailer that has its lease.
class postgres_models {
 public:
  postgres_models() {
    auto made = events::migrate_postgres(schema.url());
    INFO((made ? std::string{} : made.error().message + made.error().detail));
    REQUIRE(made);
    run_script(schema.url(),
               "insert into lease values (1, 'test', 7, 9000000000000000)");
  }

  void follow(events::journal& journal, std::uint64_t epoch = 7) {
    tailers.push_back(projections::tailer::start(
        {schema.url() + "&application_name=" + schema.name() + "-tailer",
         journal, [epoch] { return std::optional{epoch}; }, milliseconds{20},
         [this](const std::string& text) {
           std::lock_guard lock{mutex};
           alarms_.push_back(text);
         },
         [this](const std::string& text) {
           std::lock_guard lock{mutex};
           warnings_.push_back(text);
         }}));
  }

  std::vector<std::string> alarms() {
    std::lock_guard lock{mutex};
    return alarms_;
  }
  std::vector<std::string> warnings() {
    std::lock_guard lock{mutex};
    return warnings_;
  }
  bool was_alarmed_of(const std::string& words) {
    auto all = alarms();
    return std::any_of(all.begin(), all.end(), [&](const auto& text) {
      return text.find(words) != std::string::npos;
    });
  }

  void settle(events::journal& journal) {
    auto head = journal.head();
    REQUIRE(head);
    for (const auto& t : tailers)
      t->wake();
    bool there = test::eventually([&] {
      return ask(schema.url(), "select position from projection_checkpoint") ==
             std::to_string(head.value().position);
    });
    if (!there && tailers[0]->stats().last_fault)
      UNSCOPED_INFO(tailers[0]->stats().last_fault->message
                    << tailers[0]->stats().last_fault->detail);
    REQUIRE(there);
  }

  /// As a server that is restarted does to each of these connections.
  void kill(const std::string& which) {
    run_script(schema.url(),
               "select pg_terminate_backend(pid) from pg_stat_activity where "
               "application_name = '" +
                   schema.name() + which + "'");
  }

  std::string checksum() {
    auto sum = projections::checksum(*testing::connect(schema.url()));
    INFO((sum ? std::string{} : sum.error().detail));
    REQUIRE(sum);
    return sum.value();
  }

  std::uint64_t rebuild(events::journal& journal) {
    auto db =
        postgres::connection::open(schema.url(), postgres::patience::endless);
    REQUIRE(db);
    auto position = projections::rebuild(*db.value(), journal);
    INFO((position ? std::string{}
                   : position.error().message + position.error().detail));
    REQUIRE(position);
    return position.value();
  }

  std::unique_ptr<projections::queries> queries() {
    auto q = projections::open_postgres_queries(
        schema.url() + "&application_name=" + schema.name() + "-queries");
    REQUIRE(q);
    return std::move(q).value();
  }

  postgres_schema schema;
  std::mutex mutex;
  std::vector<std::string> alarms_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<projections::tailer>> tailers;
};

/// The journal in SQLite, so that its clock can be set, and its read models
/// both there and in Postgres.
class followed_store : public store_fixture {
 public:
  followed_store() { models.follow(*store); }
  ~followed_store() { models.tailers.clear(); }

  std::unique_ptr<sql::connection> connect() {
    models.settle(*store);
    return testing::connect(models.schema.url());
  }
  std::unique_ptr<projections::queries> queries() {
    models.settle(*store);
    return models.queries();
  }

  postgres_models models;
};

/// All of it in Postgres.
class postgres_store : public history {
 public:
  postgres_store() {
    auto opened = events::open_postgres_journal(models.schema.url());
    INFO((opened ? std::string{}
                 : opened.error().message + opened.error().detail));
    REQUIRE(opened);
    store = std::move(opened).value();
  }
  ~postgres_store() { models.tailers.clear(); }

  postgres_models models;
};

}  // namespace bc::testing
