#pragma once

#include "events/sqlite_journal.hpp"
#include "pki/digest.hpp"
#include "projections/projector.hpp"
#include "projections/queries.hpp"
#include "tests/projections/history.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

/// A SQLite journal with its read models, in a folder of its own.
namespace bc::testing {

class store_fixture : public history {
 public:
  store_fixture() {
    std::filesystem::create_directories(folder);
    open();
  }
  ~store_fixture() {
    close();
    std::filesystem::remove_all(folder);
  }
  store_fixture(const store_fixture&) = delete;
  store_fixture& operator=(const store_fixture&) = delete;

  void open() {
    auto opened = events::open_sqlite_journal(path, time, projector.get());
    INFO((opened ? std::string{} : opened.error().message));
    REQUIRE(opened);
    store = std::move(opened).value();
  }
  void close() { store.reset(); }

  std::unique_ptr<sqlite::connection> connect(
      sqlite::mode mode = sqlite::mode::read_write) {
    auto db = sqlite::connection::open(path, mode);
    REQUIRE(db);
    return std::move(db).value();
  }

  std::unique_ptr<projections::queries> queries() {
    auto q = projections::open_queries(path);
    REQUIRE(q);
    return std::move(q).value();
  }

  std::string checksum() {
    auto sum = projections::checksum(*connect(sqlite::mode::read_only));
    REQUIRE(sum);
    return sum.value();
  }

  // In memory where there is such a place: hundreds of flushes to a disk would
  // test the disk.
  static std::filesystem::path parent() {
    std::filesystem::path memory{"/dev/shm"};
    return std::filesystem::is_directory(memory)
               ? memory
               : std::filesystem::temp_directory_path();
  }

  std::filesystem::path folder =
      parent() / ("bc-projections-" + to_hex(pki::random_bytes(8)));
  std::string path = (folder / "store.db").string();
  std::unique_ptr<events::inline_projector> projector =
      projections::make_projector();
};

/// One number or text that a query answers.
inline std::string ask(sql::connection& db, std::string_view sql) {
  auto s = db.prepare(sql);
  INFO(sql);
  REQUIRE(s);
  auto row = s.value().step();
  REQUIRE(row);
  return row.value() ? s.value().text(0) : "no row";
}

}  // namespace bc::testing
