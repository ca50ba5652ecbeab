#include "gateway/stream_queue.hpp"

#include <algorithm>
#include <utility>

namespace bc::gateway {

stream_queue::pushed stream_queue::push(std::string text) {
  std::lock_guard lock{mutex_};
  if (ended_ || cut_)
    return pushed::refused;
  if (text.size() > limit - std::min(limit, waiting_.size() + taken_)) {
    // A reader that misses one part must not believe it has the whole: it
    // loses the connection and asks again from where it was.
    cut_ = true;
    return pushed::refused;
  }
  if (waiting_.empty())
    waiting_ = std::move(text);
  else
    waiting_ += text;
  return std::exchange(woken_, true) ? pushed::waits : pushed::wake;
}

bool stream_queue::end() {
  std::lock_guard lock{mutex_};
  if (ended_ || cut_)
    return false;
  ended_ = true;
  return !std::exchange(woken_, true);
}

void stream_queue::cut() {
  std::lock_guard lock{mutex_};
  cut_ = true;
  waiting_.clear();
}

std::optional<std::size_t> stream_queue::unsent() const {
  std::lock_guard lock{mutex_};
  if (ended_ || cut_)
    return std::nullopt;
  return waiting_.size() + taken_;
}

stream_queue::batch stream_queue::take() {
  std::lock_guard lock{mutex_};
  woken_ = false;
  batch out{std::exchange(waiting_, {}), ended_, cut_};
  taken_ = out.text.size();
  return out;
}

}  // namespace bc::gateway
