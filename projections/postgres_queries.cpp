#include "events/postgres.hpp"
#include "projections/source.hpp"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace bc::projections {

namespace {

using connection = std::unique_ptr<postgres::connection>;

constexpr int most_connections = 4;

// Connections are opened when they are needed. One that turns out to be lost
// is thrown away together with those that idle: a server that was restarted
// has lost them all.
class pool final : public source {
 public:
  pool(std::string url, connection first) : url_(std::move(url)) {
    idle_.push_back(std::move(first));
  }

  result<void> with(
      const std::function<result<void>(sql::connection&)>& use) override {
    auto db = take();
    seat kept{*this};
    if (!db) {
      BC_TRY(fresh, postgres::connection::open(url_));
      db = std::move(fresh);
    }
    auto done = use(*db);
    if (!db->is_alive()) {
      forget_idle();
      BC_TRY(fresh, postgres::connection::open(url_));
      db = std::move(fresh);
      done = use(*db);
    }
    if (db->is_alive())
      give_back(std::move(db));
    return done;
  }

 private:
  // Gives the right to one connection back.
  struct seat {
    explicit seat(pool& p) : of(p) {}
    seat(const seat&) = delete;
    seat& operator=(const seat&) = delete;
    ~seat() {
      std::lock_guard lock{of.mutex_};
      --of.in_use_;
      of.free_.notify_one();
    }
    pool& of;
  };

  // Null: to be opened.
  connection take() {
    std::unique_lock lock{mutex_};
    free_.wait(lock, [&] { return in_use_ < most_connections; });
    ++in_use_;
    if (idle_.empty())
      return nullptr;
    auto db = std::move(idle_.back());
    idle_.pop_back();
    return db;
  }

  void give_back(connection db) {
    std::lock_guard lock{mutex_};
    idle_.push_back(std::move(db));
  }

  void forget_idle() {
    std::vector<connection> lost;
    std::lock_guard lock{mutex_};
    lost.swap(idle_);
  }

  std::string url_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<connection> idle_;
  int in_use_ = 0;
};

}  // namespace

result<std::unique_ptr<queries>> open_postgres_queries(const std::string& url) {
  BC_TRY(first, postgres::connection::open(url));
  return make_queries(std::make_unique<pool>(url, std::move(first)));
}

}  // namespace bc::projections
