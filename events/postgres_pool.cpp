#include "events/postgres_pool.hpp"

#include <utility>

namespace bc::postgres {

void pool::drop_idle() {
  connections dropped;  // closed without the lock
  std::lock_guard lock{mutex_};
  dropped.swap(idle_);
}

result<pool::held> pool::borrow(bool fresh, milliseconds silence) {
  connections dropped;  // closed without the lock
  std::unique_lock lock{mutex_};
  if (!returned_.wait_for(lock, silence, [this] { return free_ > 0; }))
    return fail(errc::unavailable, "the database is busy", {},
                "every connection is in use");
  --free_;
  if (fresh)
    dropped.swap(idle_);
  if (!idle_.empty()) {
    auto db = std::move(idle_.back());
    idle_.pop_back();
    db->allow_silence(silence);
    return held{*this, std::move(db)};
  }
  lock.unlock();
  auto made = connect(silence);
  if (made)
    return held{*this, std::move(made).value()};
  lock.lock();
  ++free_;
  returned_.notify_one();
  return std::move(made).error();
}

result<std::unique_ptr<connection>> pool::connect(milliseconds silence) {
  BC_TRY(db, connection::open(url_));
  db->allow_silence(silence);
  if (!setup_.empty()) {
    BC_TRYV(db->execute(setup_));
  }
  if (is_fit_) {
    BC_TRYV(is_fit_(*db));
  }
  return std::move(db);
}

void pool::give_back(std::unique_ptr<connection> db) {
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

}  // namespace bc::postgres
