#pragma once

#include "base/clock.hpp"
#include "events/memory_journal.hpp"
#include "events/sqlite_journal.hpp"
#include "projections/projector.hpp"
#include "tests/support/postgres_store.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace bc::testing {

/// A clock moved by hand, and with it the clock of the store where that has
/// one of its own.
class world_clock final : public clock {
 public:
  explicit world_clock(time_point start) : own_(start) {}
  [[nodiscard]] time_point now() const override { return own_.now(); }
  void advance(milliseconds by) { set(now() + by); }
  void set(time_point t) {
    own_.set(t);
    if (of_store_)
      of_store_->set(t);
  }
  void also(events::testing::postgres_clock& of_store) {
    of_store_ = &of_store;
  }

 private:
  manual_clock own_;
  events::testing::postgres_clock* of_store_ = nullptr;
};

/// What a world of tests stands on. BC_TEST_STORE names it (memory, sqlite or
/// postgres; memory without), so that one test program holds on each store.
class world_store {
 public:
  explicit world_store(time_point start) : time(start) {}

  [[nodiscard]] std::unique_ptr<events::journal> open() {
    const char* given = std::getenv("BC_TEST_STORE");
    const std::string kind = given == nullptr ? "memory" : given;
    if (kind == "sqlite")
      return open_sqlite();
    if (kind == "postgres")
      return open_postgres();
    if (kind != "memory")
      FAIL("BC_TEST_STORE is " << kind);
    return events::make_memory_journal(time);
  }

  world_clock time;

 private:
  std::unique_ptr<events::journal> open_sqlite() {
    folder_.emplace(quick_parent());
    projector_ = projections::make_projector();
    auto opened = events::open_sqlite_journal(*folder_ / "journal.db", time,
                                              projector_.get());
    if (!opened)
      FAIL(opened.error().message << " " << opened.error().detail);
    return std::move(opened).value();
  }

  std::unique_ptr<events::journal> open_postgres() {
    schema_.emplace();
    store_time_.emplace(schema_->url(), time.now());
    time.also(*store_time_);
    return events::testing::open_store(schema_->url());
  }

  std::optional<temporary_folder> folder_;
  std::unique_ptr<events::inline_projector> projector_;
  std::optional<events::testing::migrated_schema> schema_;
  std::optional<events::testing::postgres_clock> store_time_;
};

}  // namespace bc::testing
