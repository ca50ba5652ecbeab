#include "tests/support/world_store.hpp"

namespace bc::testing {

world_clock::world_clock(time_point start) : own_(start) {}

time_point world_clock::now() const {
  return own_.now();
}

void world_clock::advance(milliseconds by) {
  set(now() + by);
}

void world_clock::set(time_point t) {
  own_.set(t);
  if (of_store_)
    of_store_->set(t);
}

void world_clock::also(events::testing::postgres_clock& of_store) {
  of_store_ = &of_store;
}

world_store::world_store(time_point start) : time(start) {}

std::unique_ptr<events::journal> world_store::open() {
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

std::unique_ptr<events::journal> world_store::open_sqlite() {
  folder_.emplace(quick_parent());
  projector_ = projections::make_projector();
  auto opened = events::open_sqlite_journal(*folder_ / "journal.db", time,
                                            projector_.get());
  if (!opened)
    FAIL(opened.error().message << " " << opened.error().detail);
  return std::move(opened).value();
}

std::unique_ptr<events::journal> world_store::open_postgres() {
  schema_.emplace();
  store_time_.emplace(schema_->url(), time.now());
  time.also(*store_time_);
  return events::testing::open_store(schema_->url());
}

}  // namespace bc::testing
