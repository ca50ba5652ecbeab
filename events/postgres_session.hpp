#pragma once

#include "events/postgres.hpp"

struct pg_conn;
struct pg_result;

namespace bc::postgres::detail {

/// A libpq connection that never waits for ever (patience::bounded): the
/// socket is not blocking, and a server that says nothing for 35 s is given
/// up.
class session {
 public:
  [[nodiscard]] static result<session> open(const std::string& url, patience p);
  session(session&& o) noexcept : pg_(std::exchange(o.pg_, nullptr)) {}
  session& operator=(session&&) = delete;
  ~session();

  [[nodiscard]] pg_conn* get() const { return pg_; }
  /// Sends what libpq holds back.
  [[nodiscard]] result<void> flush(patience p);
  /// The next result, to be cleared; null where libpq says so.
  [[nodiscard]] result<pg_result*> next(patience p);

 private:
  explicit session(pg_conn* pg) : pg_(pg) {}
  result<void> wait(short events, patience p);

  pg_conn* pg_;
};

}  // namespace bc::postgres::detail
