#pragma once

#include "events/sql.hpp"

#include <memory>
#include <string>
#include <string_view>

/// The SQL connection layer over SQLite; used by the journal store and the
/// read models.
namespace bc::sqlite {

enum class mode { read_write, read_only };

class connection final : public sql::connection {
 public:
  /// read_write makes the file (0600) when it is missing, and sets WAL and
  /// synchronous=FULL. INVALID_CONFIG for a path that cannot be opened,
  /// INTERNAL for a file that is no database.
  [[nodiscard]] static result<std::unique_ptr<connection>> open(
      const std::string& path, mode m);
  ~connection() override;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] sql::dialect kind() const override {
    return sql::dialect::sqlite;
  }
  [[nodiscard]] result<sql::statement> prepare(std::string_view sql) override;
  [[nodiscard]] result<void> execute(const std::string& script) override;
  [[nodiscard]] std::int64_t changes() const override;
  /// False also after SQLite rolled a transaction back by itself.
  [[nodiscard]] bool in_transaction() const override;

 private:
  struct impl;
  explicit connection(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

}  // namespace bc::sqlite
