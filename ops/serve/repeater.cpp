#include "ops/serve/repeater.hpp"

#include <utility>

namespace bc::serve {

repeater::~repeater() {
  stop();
}

void repeater::start(milliseconds every, std::function<void()> what) {
  thread_ = std::thread{[this, every, what = std::move(what)] {
    std::unique_lock lock{mutex_};
    while (!changed_.wait_for(lock, every, [this] { return stopped_; })) {
      lock.unlock();
      what();
      lock.lock();
    }
  }};
}

void repeater::stop() {
  {
    std::lock_guard lock{mutex_};
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

}  // namespace bc::serve
