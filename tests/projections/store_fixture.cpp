#include "tests/projections/store_fixture.hpp"

namespace bc::testing {

store_fixture::store_fixture() {
  std::filesystem::create_directories(folder);
  open();
}

store_fixture::~store_fixture() {
  close();
  std::filesystem::remove_all(folder);
}

void store_fixture::open() {
  auto opened = events::open_sqlite_journal(path, time, projector.get());
  INFO((opened ? std::string{} : opened.error().message));
  REQUIRE(opened);
  store = std::move(opened).value();
}

void store_fixture::close() {
  store.reset();
}

std::unique_ptr<sqlite::connection> store_fixture::connect(sqlite::mode mode) {
  auto db = sqlite::connection::open(path, mode);
  REQUIRE(db);
  return std::move(db).value();
}

std::unique_ptr<projections::queries> store_fixture::queries() {
  auto q = projections::open_queries(path);
  REQUIRE(q);
  return std::move(q).value();
}

std::string store_fixture::checksum() {
  auto sum = projections::checksum(*connect(sqlite::mode::read_only));
  REQUIRE(sum);
  return sum.value();
}

std::filesystem::path store_fixture::parent() {
  std::filesystem::path memory{"/dev/shm"};
  return std::filesystem::is_directory(memory)
             ? memory
             : std::filesystem::temp_directory_path();
}

std::string ask(sql::connection& db, std::string_view sql) {
  auto s = db.prepare(sql);
  INFO(sql);
  REQUIRE(s);
  auto row = s.value().step();
  REQUIRE(row);
  return row.value() ? s.value().text(0) : "no row";
}

}  // namespace bc::testing
