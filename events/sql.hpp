#pragma once

#include "base/result.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// The one SQL connection layer: what the stores and the read models need of a
/// database, over SQLite (sqlite.hpp) and Postgres (postgres.hpp).
namespace bc::sql {

enum class dialect { sqlite, postgres };

/// Numbers as the tables hold them.
[[nodiscard]] inline std::int64_t to_sql(std::uint64_t n) {
  return static_cast<std::int64_t>(n);
}
[[nodiscard]] inline std::uint64_t of_sql(std::int64_t n) {
  return static_cast<std::uint64_t>(n);
}
/// The same for a bound or limit: what is larger than the tables can hold
/// matches no row.
[[nodiscard]] inline std::int64_t to_bound(std::uint64_t n) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  return to_sql(std::min(n, static_cast<std::uint64_t>(most)));
}

/// One statement on its way, made by a connection; what the database's own
/// layer must do for it.
class cursor {
 public:
  virtual ~cursor() = default;
  virtual void bind_text(int index, std::string_view text) = 0;
  virtual void bind_number(int index, std::int64_t number) = 0;
  virtual void bind_null(int index) = 0;
  /// True while there is a row; UNAVAILABLE for what may pass (busy, full
  /// disk, connection lost, serialisation failure), INTERNAL for the rest.
  [[nodiscard]] virtual result<bool> step() = 0;
  [[nodiscard]] virtual std::string text(int column) const = 0;
  [[nodiscard]] virtual std::int64_t number(int column) const = 0;
  [[nodiscard]] virtual bool is_null(int column) const = 0;
};

/// A prepared statement in use; given back when destroyed, which must be
/// before its connection is.
class statement {
 public:
  explicit statement(std::unique_ptr<cursor> c) : cursor_(std::move(c)) {}

  statement& bind(int index, std::string_view text) {
    cursor_->bind_text(index, text);
    return *this;
  }
  statement& bind(int index, const std::string& text) {
    return bind(index, std::string_view{text});
  }
  statement& bind(int index, const char* text) {
    return bind(index, std::string_view{text});
  }
  statement& bind(int index, std::int64_t number) {
    cursor_->bind_number(index, number);
    return *this;
  }
  statement& bind_null(int index) {
    cursor_->bind_null(index);
    return *this;
  }
  template <class T>
  statement& bind(int index, const std::optional<T>& value) {
    return value ? bind(index, *value) : bind_null(index);
  }

  [[nodiscard]] result<bool> step() { return cursor_->step(); }
  /// For statements without rows.
  [[nodiscard]] result<void> run() {
    BC_TRYV(cursor_->step());
    return ok();
  }

  [[nodiscard]] std::string text(int column) const {
    return cursor_->text(column);
  }
  [[nodiscard]] std::int64_t number(int column) const {
    return cursor_->number(column);
  }
  [[nodiscard]] bool is_null(int column) const {
    return cursor_->is_null(column);
  }

 private:
  std::unique_ptr<cursor> cursor_;
};

/// One connection; not thread-safe.
class connection {
 public:
  virtual ~connection() = default;
  [[nodiscard]] virtual dialect kind() const = 0;
  /// Parameters are `?` (in order) or `?1`, `?2`, … in both dialects. The text
  /// must live as long as the statement, in a pipeline until the flush.
  /// Statements are prepared once for each connection and kept, so there must
  /// be a bounded number of texts.
  [[nodiscard]] virtual result<statement> prepare(std::string_view sql) = 0;
  /// Runs a script of several statements without parameters.
  [[nodiscard]] virtual result<void> execute(const std::string& script) = 0;
  /// Rows the last insert, update or delete changed.
  [[nodiscard]] virtual std::int64_t changes() const = 0;
  [[nodiscard]] virtual bool in_transaction() const = 0;

  /// From here to flush(), statements without rows may be sent without waiting
  /// for what becomes of them: a database across a network then costs one
  /// round trip for many. Statements with rows, scripts (execute) and whole
  /// round trips must wait for the flush; on Postgres the latter two are
  /// INTERNAL. A server may wait for the rest of it, with its locks held, so
  /// the caller has what it writes at hand before it begins.
  virtual void begin_pipeline() {}
  /// Waits for all that was sent; the first fault of it, after which the
  /// transaction can only be rolled back.
  [[nodiscard]] virtual result<void> flush() { return ok(); }
  /// INTERNAL unless the last statement changed this many rows; in a pipeline
  /// the flush says so.
  [[nodiscard]] virtual result<void> expect_changes(std::int64_t rows) {
    if (changes() == rows)
      return ok();
    return fail(errc::internal, "a write changed " + std::to_string(changes()) +
                                    " rows, not " + std::to_string(rows));
  }
};

}  // namespace bc::sql
