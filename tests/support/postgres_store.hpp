#pragma once

#include "base/clock.hpp"
#include "base/fault_point.hpp"
#include "events/postgres_journal.hpp"
#include "tests/support/postgres.hpp"

#include <memory>
#include <string>

namespace bc::events::testing {

/// The clock of one store, moved by hand: the schema's store_now_ms() reads
/// it.
class postgres_clock {
 public:
  postgres_clock(const std::string& url, time_point start)
      : db_(bc::testing::connect(url)) {
    REQUIRE(db_->execute(
        "create table test_clock (ms bigint not null);"
        "insert into test_clock values (" +
        std::to_string(to_millis(start)) +
        ");"
        "create or replace function store_now_ms() returns bigint language sql "
        "volatile as 'select ms from test_clock'"));
  }
  void set(time_point t) {
    REQUIRE(db_->execute("update test_clock set ms = " +
                         std::to_string(to_millis(t))));
  }
  void advance(milliseconds by) {
    REQUIRE(db_->execute("update test_clock set ms = ms + " +
                         std::to_string(by.count())));
  }

 private:
  std::unique_ptr<postgres::connection> db_;
};

inline void migrate(const std::string& url) {
  auto done = migrate_postgres(url);
  if (!done)
    FAIL(done.error().message << " " << done.error().detail);
}

inline std::unique_ptr<journal> open_store(const std::string& url) {
  auto opened = open_postgres_journal(url);
  if (!opened)
    FAIL(opened.error().message << " " << opened.error().detail);
  return std::move(opened).value();
}

/// A migrated schema of its own on the server that tests share.
struct migrated_schema : bc::testing::postgres_schema {
  explicit migrated_schema(
      std::string server = bc::testing::shared_postgres_url())
      : postgres_schema(std::move(server)) {
    migrate(url());
  }
};

/// A store with a clock of its own; no fault point stays armed.
struct postgres_store {
  migrated_schema schema;
  postgres_clock time{schema.url(), from_millis(1'800'000'000'000)};
  std::unique_ptr<journal> store = open_store(schema.url());
  ~postgres_store() { disarm_all(); }
  journal* operator->() const { return store.get(); }
};

}  // namespace bc::events::testing
