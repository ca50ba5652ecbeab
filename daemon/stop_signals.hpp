#pragma once

#include "base/clock.hpp"

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <thread>

namespace bc::daemon {

/// Turns SIGTERM and SIGINT into a stop; ends the process with 0 when that does
/// not end by itself: what is on disk is whole at every moment. Made before any
/// other thread, so that all of them have the signals blocked.
class stop_signals {
 public:
  explicit stop_signals(std::stop_source stop) : stop_(std::move(stop)) {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGTERM);
    ::sigaddset(&set_, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    thread_ = std::thread{[this] { wait(); }};
  }
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals() {
    {
      std::lock_guard lock{mutex_};
      ended_ = true;
    }
    done_.notify_all();
    ::pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }

 private:
  static constexpr seconds patience{8};

  void wait() {
    int which = 0;
    ::sigwait(&set_, &which);
    stop_.request_stop();
    std::unique_lock lock{mutex_};
    if (!done_.wait_for(lock, patience, [this] { return ended_; }))
      std::_Exit(EXIT_SUCCESS);
  }

  std::stop_source stop_;
  sigset_t set_{};
  std::mutex mutex_;
  std::condition_variable done_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace bc::daemon
