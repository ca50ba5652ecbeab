#pragma once

#include "events/sql.hpp"

namespace bc::projections {

/// A writing transaction, rolled back when it goes away without a commit.
class transaction {
 public:
  explicit transaction(sql::connection& db) : db_(db) {}
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() {
    if (open_ && db_.in_transaction())
      static_cast<void>(db_.execute("rollback"));
  }

  [[nodiscard]] result<void> begin() {
    // On SQLite a reader that turns writer could only fail.
    BC_TRYV(db_.execute(db_.kind() == sql::dialect::sqlite ? "begin immediate"
                                                           : "begin"));
    open_ = true;
    return ok();
  }
  [[nodiscard]] result<void> commit() {
    BC_TRYV(db_.execute("commit"));
    open_ = false;
    return ok();
  }

 private:
  sql::connection& db_;
  bool open_ = false;
};

}  // namespace bc::projections
