#include "events/lease_keeper.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <time.h>
#include <utility>

namespace bc::events {

namespace {

// CLOCK_BOOTTIME goes on in a suspended machine, std::chrono::steady_clock
// does not.
milliseconds boot_time() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return seconds{t.tv_sec} + milliseconds{t.tv_nsec / 1'000'000};
}

class thread_keeper final : public lease_keeper {
 public:
  thread_keeper(journal& store, const std::string& holder, seconds ttl,
                monotonic time)
      : store_(store),
        holder_(holder + " " + to_hex(pki::random_bytes(8))),
        ttl_(ttl),
        time_(time ? std::move(time) : boot_time) {
    thread_ = std::thread{[this] { run(); }};
  }
  ~thread_keeper() override { end(); }

  std::optional<std::uint64_t> epoch() const override {
    auto now = time_();
    std::lock_guard lock{mutex_};
    if (stopping_ || !held_ || now >= held_->until)
      return std::nullopt;
    return held_->epoch;
  }

  void stop() override { end(); }

 private:
  struct holding {
    std::uint64_t epoch = 0;
    milliseconds until{};  // by the monotonic clock
  };

  void end() {
    std::lock_guard once{ending_};
    if (!thread_.joinable())
      return;
    {
      std::lock_guard lock{mutex_};
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void run() {
    std::unique_lock lock{mutex_};
    while (!stopping_) {
      lock.unlock();
      auto next = ask();
      lock.lock();
      held_ = next;
      wake_.wait_for(lock, milliseconds{ttl_} / 3,
                     [this] { return stopping_; });
    }
    bool held = held_.has_value();
    lock.unlock();
    if (held)
      give_back();
  }

  // Counted from before the question: the store's count begins later. A store
  // that does not answer takes nothing away: the lease runs until its end.
  std::optional<holding> ask() {
    auto asked = time_();
    auto got = acquire(ttl_);
    if (!got)
      return held_;
    if (!got.value())
      return std::nullopt;
    return holding{got.value()->epoch,
                   asked + milliseconds{ttl_} - milliseconds{ttl_} / 10};
  }

  // Its fault is the next holder's wait for the end of the lease.
  void give_back() { (void)acquire(seconds{0}); }

  result<std::optional<lease>> acquire(seconds ttl) {
    try {
      return store_.acquire_lease(holder_, ttl);
    } catch (const std::exception& e) {
      return fail(errc::internal, "The journal failed", {}, e.what());
    }
  }

  journal& store_;
  const std::string holder_;
  const seconds ttl_;
  const monotonic time_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::optional<holding> held_;  // changed by the thread alone
  std::mutex ending_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<lease_keeper> lease_keeper::start(journal& store,
                                                  std::string holder,
                                                  seconds ttl, monotonic time) {
  return std::make_unique<thread_keeper>(store, holder, ttl, std::move(time));
}

}  // namespace bc::events
