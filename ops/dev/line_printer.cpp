#include "ops/dev/line_printer.hpp"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>

namespace bc::dev {

namespace {

constexpr std::size_t most_lines = 10'000;
constexpr milliseconds last_wait{500};

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

struct line_printer::state {
  int fd = -1;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  std::size_t dropped = 0;
  bool writing = false;
  bool finished = false;

  // What waits, as one text.
  std::string take() {
    std::string out;
    for (const auto& line : lines)
      out.append(line).append("\n");
    lines.clear();
    if (auto n = std::exchange(dropped, 0); n > 0)
      out.append("(")
          .append(std::to_string(n))
          .append(" lines were not printed)\n");
    return out;
  }

  void run() {
    std::unique_lock lock{mutex};
    for (;;) {
      changed.wait(lock, [this] { return finished || !lines.empty(); });
      if (lines.empty())
        return;
      auto text = take();
      writing = true;
      lock.unlock();
      // Nobody is left to tell that the terminal went away.
      (void)write_all(fd, text);
      lock.lock();
      writing = false;
      changed.notify_all();
    }
  }
};

line_printer::line_printer(int fd) : state_(std::make_shared<state>()) {
  state_->fd = fd;
  // Detached: a write that blocks cannot be called back, and must not keep the
  // process from ending.
  std::thread{[state = state_] { state->run(); }}.detach();
}

line_printer::~line_printer() {
  finish(last_wait);
}

void line_printer::say(const std::string& line) {
  std::lock_guard lock{state_->mutex};
  if (state_->finished)
    return;
  if (state_->lines.size() >= most_lines) {
    ++state_->dropped;
    return;
  }
  state_->lines.push_back(line);
  state_->changed.notify_all();
}

void line_printer::finish(milliseconds limit) {
  std::unique_lock lock{state_->mutex};
  state_->finished = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, limit, [this] {
    return state_->lines.empty() && !state_->writing;
  });
}

}  // namespace bc::dev
