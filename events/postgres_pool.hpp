#pragma once

#include "events/postgres.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace bc::postgres {

/// A few connections to one store, opened as needed. Thread-safe.
class pool {
 public:
  /// A connection in use. Given back when destroyed: a transaction it left
  /// open is rolled back, a dead one is thrown away.
  class held {
   public:
    held(pool& from, std::unique_ptr<connection> db)
        : pool_(&from), db_(std::move(db)) {}
    held(held&& o) noexcept = default;
    held& operator=(held&&) = delete;
    ~held() {
      if (db_)
        pool_->give_back(std::move(db_));
    }
    connection& operator*() const { return *db_; }
    connection* operator->() const { return db_.get(); }

   private:
    pool* pool_;
    std::unique_ptr<connection> db_;
  };

  using check = std::function<result<void>(connection&)>;

  /// `setup`: run once on each new connection; `is_fit`: must be content with
  /// it then.
  pool(std::string url, std::size_t most, std::string setup,
       check is_fit = nullptr)
      : url_(std::move(url)),
        setup_(std::move(setup)),
        is_fit_(std::move(is_fit)),
        free_(most) {}

  /// One that allows its server this silence. Waits while all are in use, as
  /// long at most: UNAVAILABLE then. `fresh`: what idles here is thrown away
  /// first, for a caller who found one of them dead.
  [[nodiscard]] result<held> borrow(bool fresh = false,
                                    milliseconds silence = usual_silence);
  void drop_idle();
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  using connections = std::vector<std::unique_ptr<connection>>;

  [[nodiscard]] result<std::unique_ptr<connection>> connect(
      milliseconds silence);
  void give_back(std::unique_ptr<connection> db);

  std::string url_;
  std::string setup_;
  check is_fit_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t free_;  // how many more may be in use
  connections idle_;
};

/// Does `first` on a pooled connection, and once more on a new one when the
/// pooled one turned out to be dead (case 162): `first` must be without effect
/// when its connection is lost. Answers the connection, to go on with.
template <class First>
[[nodiscard]] result<pool::held> begin_on(
    pool& from, First first, milliseconds silence = usual_silence) {
  for (bool fresh : {false, true}) {
    BC_TRY(db, from.borrow(fresh, silence));
    result<void> done = first(*db);
    if (done)
      return std::move(db);
    if (fresh || db->is_alive())
      return std::move(done).error();
  }
  return fail(errc::unavailable, "the database cannot be reached");
}

}  // namespace bc::postgres
