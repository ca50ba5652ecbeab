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
  explicit world_clock(time_point start);
  [[nodiscard]] time_point now() const override;
  void advance(milliseconds by);
  void set(time_point t);
  void also(events::testing::postgres_clock& of_store);

 private:
  manual_clock own_;
  events::testing::postgres_clock* of_store_ = nullptr;
};

/// What a world of tests stands on. BC_TEST_STORE names it (memory, sqlite or
/// postgres; memory without), so that one test program holds on each store.
class world_store {
 public:
  explicit world_store(time_point start);

  [[nodiscard]] std::unique_ptr<events::journal> open();

  world_clock time;

 private:
  std::unique_ptr<events::journal> open_sqlite();

  std::unique_ptr<events::journal> open_postgres();

  std::optional<temporary_folder> folder_;
  std::unique_ptr<events::inline_projector> projector_;
  std::optional<events::testing::migrated_schema> schema_;
  std::optional<events::testing::postgres_clock> store_time_;
};

}  // namespace bc::testing
