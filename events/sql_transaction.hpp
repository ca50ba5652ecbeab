#pragma once

#include "events/sql.hpp"

namespace bc::sql {

/// A transaction, rolled back when it goes away without a commit.
class transaction {
 public:
  explicit transaction(connection& db) : db_(db) {}
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() {
    // SQLite may have rolled back by itself (full disk).
    if (open_ && db_.in_transaction())
      static_cast<void>(db_.execute("rollback"));
  }

  /// For writing. On SQLite with the writers' lock at once, as a reader that
  /// turns writer could only fail; on Postgres `read committed`, whatever the
  /// database's default is. What a rollback that failed left open is ended
  /// first.
  [[nodiscard]] result<void> begin() {
    return begin_with(db_.kind() == dialect::sqlite
                          ? "begin immediate"
                          : "begin isolation level read committed");
  }
  /// For reading the tables of one moment.
  [[nodiscard]] result<void> begin_reading() {
    return begin_with(db_.kind() == dialect::sqlite
                          ? "begin"
                          : "begin isolation level repeatable read read only");
  }
  [[nodiscard]] result<void> commit() {
    BC_TRYV(db_.execute("commit"));
    open_ = false;
    return ok();
  }

 private:
  result<void> begin_with(const char* text) {
    if (db_.in_transaction()) {
      BC_TRYV(db_.execute("rollback"));
    }
    BC_TRYV(db_.execute(text));
    open_ = true;
    return ok();
  }

  connection& db_;
  bool open_ = false;
};

}  // namespace bc::sql
