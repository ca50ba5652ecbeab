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
  store_fixture();
  ~store_fixture();
  store_fixture(const store_fixture&) = delete;
  store_fixture& operator=(const store_fixture&) = delete;

  void open();
  void close();

  std::unique_ptr<sqlite::connection> connect(
      sqlite::mode mode = sqlite::mode::read_write);

  std::unique_ptr<projections::queries> queries();

  std::string checksum();

  // In memory where there is such a place: hundreds of flushes to a disk would
  // test the disk.
  static std::filesystem::path parent();

  std::filesystem::path folder =
      parent() / ("bc-projections-" + to_hex(pki::random_bytes(8)));
  std::string path = (folder / "store.db").string();
  std::unique_ptr<events::inline_projector> projector =
      projections::make_projector();
};

/// One number or text that a query answers.
std::string ask(sql::connection& db, std::string_view sql);

}  // namespace bc::testing
