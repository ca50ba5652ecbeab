#include "ops/serve/monitor.hpp"

#include "ops/serve/repeater.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace bc::serve {

namespace {

using steady = std::chrono::steady_clock;

constexpr seconds interval{1};
// Over it a look says nothing about now.
constexpr seconds longest_age{5};

// libpq's words may have line ends.
std::string one_line(std::string detail) {
  std::ranges::replace(detail, '\n', ' ');
  return detail.empty() ? detail : " (" + detail + ")";
}

}  // namespace

struct monitor::state {
  std::function<health()> look;
  mutable std::mutex mutex;
  health last;
  steady::time_point at;

  // By the looking thread alone.
  std::string said;
  bool said_of_keys = false;

  void look_once() {
    auto seen = look();
    seen.fresh = true;
    auto why = not_ready_because(seen);
    if (why != said) {
      if (why.empty())
        spdlog::info("ready again");
      else
        spdlog::warn("not ready: {}{}", why, one_line(seen.store_detail));
      said = why;
    }
    // No reason to be taken out: keys of one step beside the next work.
    if (!std::exchange(said_of_keys, !seen.keys_current) && !seen.keys_current)
      spdlog::warn("the keys were rotated; restart this process");
    std::lock_guard lock{mutex};
    last = std::move(seen);
    at = steady::now();
  }

  repeater again;  // last: it uses the others
};

monitor::monitor(std::function<health()> look)
    : state_(std::make_unique<state>()) {
  state_->look = std::move(look);
  state_->look_once();
  state_->again.start(interval, [s = state_.get()] { s->look_once(); });
}

monitor::~monitor() {
  stop();
}

health monitor::last() const {
  std::lock_guard lock{state_->mutex};
  auto out = state_->last;
  out.fresh = out.fresh && steady::now() - state_->at < longest_age;
  return out;
}

void monitor::stop() {
  state_->again.stop();
}

}  // namespace bc::serve
