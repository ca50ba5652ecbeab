#include "events/postgres_pool.hpp"

#include <utility>

namespace bc::events::detail {

void postgres_pool::drop_idle() {
  connections dropped;  // closed without the lock
  std::lock_guard lock{mutex_};
  dropped.swap(idle_);
}

result<postgres_pool::held> postgres_pool::borrow(bool fresh) {
  connections dropped;  // closed without the lock
  std::unique_lock lock{mutex_};
  returned_.wait(lock, [this] { return free_ > 0; });
  --free_;
  if (fresh)
    dropped.swap(idle_);
  if (!idle_.empty()) {
    auto db = std::move(idle_.back());
    idle_.pop_back();
    return held{*this, std::move(db)};
  }
  lock.unlock();
  auto made = connect();
  if (made)
    return held{*this, std::move(made).value()};
  lock.lock();
  ++free_;
  returned_.notify_one();
  return std::move(made).error();
}

result<std::unique_ptr<postgres::connection>> postgres_pool::connect() const {
  BC_TRY(db, postgres::connection::open(url_));
  if (!setup_.empty()) {
    BC_TRYV(db->execute(setup_));
  }
  return std::move(db);
}

void postgres_pool::give_back(std::unique_ptr<postgres::connection> db) {
  if (db->is_alive() && db->in_transaction() && !db->execute("rollback"))
    db.reset();
  if (db && !db->is_alive())
    db.reset();
  std::lock_guard lock{mutex_};
  if (db)
    idle_.push_back(std::move(db));
  ++free_;
  returned_.notify_one();
}

}  // namespace bc::events::detail
