#pragma once

#include "base/clock.hpp"
#include "events/postgres.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

struct pg_conn;
struct pg_result;

namespace bc::postgres::detail {

/// A libpq connection that never waits for ever (patience::bounded): the
/// socket is not blocking, and a server that says nothing for the silence it is
/// allowed, or is not done with a request in time, is given up.
class session {
 public:
  [[nodiscard]] static result<session> open(const std::string& url, patience p);
  session(session&& o) noexcept
      : pg_(std::exchange(o.pg_, nullptr)),
        warned_(std::move(o.warned_)),
        silence_(o.silence_),
        whole_(o.whole_),
        until_(o.until_) {}
  session& operator=(session&&) = delete;
  ~session();

  [[nodiscard]] pg_conn* get() const { return pg_; }
  void allow_silence(milliseconds most, milliseconds whole) {
    silence_ = most;
    whole_ = whole;
  }
  /// From here on a request is under way.
  void begin_request();
  /// Sends what libpq holds back.
  [[nodiscard]] result<void> flush();
  /// The next result, to be cleared; null where libpq says so.
  [[nodiscard]] result<pg_result*> next();
  /// True when the server warned of something since it was last asked.
  [[nodiscard]] bool was_warned() { return std::exchange(*warned_, false); }

 private:
  explicit session(pg_conn* pg) : pg_(pg) {}
  void hear_warnings();
  [[nodiscard]] result<void> wait(short events);
  /// For poll(): -1 for ever, 0 when the time is over.
  [[nodiscard]] int patience_left() const;

  pg_conn* pg_;
  std::unique_ptr<bool> warned_ = std::make_unique<bool>(false);
  std::optional<milliseconds> silence_;  // nullopt: endless
  milliseconds whole_ = usual_request;
  std::chrono::steady_clock::time_point until_{};
};

}  // namespace bc::postgres::detail
