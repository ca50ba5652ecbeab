#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

/// The one SQL connection layer over SQLite; used by the journal store and the
/// projections.
namespace bc::sqlite {

/// A prepared statement in use; reset when destroyed, which must be before its
/// connection is.
class statement {
 public:
  /// `in_use`: the flag of the cache's entry, cleared at the end; nullptr for
  /// a statement of its own.
  statement(sqlite3_stmt* s, bool* in_use) : s_(s), in_use_(in_use) {}
  statement(statement&& o) noexcept
      : s_(std::exchange(o.s_, nullptr)),
        in_use_(std::exchange(o.in_use_, nullptr)),
        bind_code_(o.bind_code_) {}
  statement& operator=(statement&&) = delete;
  ~statement();

  statement& bind(int index, std::string_view text);
  statement& bind(int index, const std::string& text) {
    return bind(index, std::string_view{text});
  }
  statement& bind(int index, const char* text) {
    return bind(index, std::string_view{text});
  }
  statement& bind(int index, std::int64_t number);
  statement& bind_null(int index);
  statement& bind(int index, const std::optional<std::int64_t>& number);
  statement& bind(int index, const std::optional<std::string>& text);

  /// True while there is a row; UNAVAILABLE for busy, full disk or I/O error,
  /// INTERNAL for anything else.
  [[nodiscard]] result<bool> step();
  /// For statements without rows.
  [[nodiscard]] result<void> run();

  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t number(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  void bound(int code);

  sqlite3_stmt* s_;
  bool* in_use_;
  int bind_code_ = 0;
};

enum class mode { read_write, read_only };

/// One connection; not thread-safe. Statements are prepared once and kept.
class connection {
 public:
  /// read_write makes the file (0600) when it is missing, and sets WAL and
  /// synchronous=FULL. INVALID_CONFIG for a path that cannot be opened,
  /// INTERNAL for a file that is no database.
  [[nodiscard]] static result<std::unique_ptr<connection>> open(
      const std::string& path, mode m);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// `sql` must be a literal that lives as long as the program.
  [[nodiscard]] result<statement> prepare(std::string_view sql);
  /// Runs a script of several statements.
  [[nodiscard]] result<void> execute(const std::string& script);
  [[nodiscard]] std::int64_t changes() const;
  /// False also after SQLite rolled a transaction back by itself.
  [[nodiscard]] bool in_transaction() const;

 private:
  struct impl;
  explicit connection(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

}  // namespace bc::sqlite
