#include "daemon/waker.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr std::int64_t ms_in_s = 1'000;
constexpr long ns_in_ms = 1'000'000;

void drain(int fd) {
  std::uint64_t ignored = 0;
  // ECANCELED tells that the clock was set: that, too, is only a reason to
  // look again.
  [[maybe_unused]] auto got = ::read(fd, &ignored, sizeof ignored);
}

itimerspec after(milliseconds t) {
  itimerspec out{};
  // 0 would disarm it.
  auto ms = t.count() > 0 ? t.count() : 1;
  out.it_value.tv_sec = ms / ms_in_s;
  out.it_value.tv_nsec = static_cast<long>(ms % ms_in_s) * ns_in_ms;
  return out;
}

}  // namespace

clock_reading read_clocks() {
  timespec boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  return {system_clock{}.now(),
          milliseconds{boot.tv_sec * ms_in_s + boot.tv_nsec / ns_in_ms}};
}

waker::waker()
    : wakeups_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
      clock_set_(::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (wakeups_ < 0 || timer_ < 0 || clock_set_ < 0)
    throw std::runtime_error("no descriptors for timers");
}

waker::~waker() {
  for (int fd : {wakeups_, timer_, clock_set_})
    ::close(fd);
}

void waker::sleep(milliseconds most) {
  auto when = after(most);
  ::timerfd_settime(timer_, 0, &when, nullptr);
  // Never rings by itself: it only tells that the clock was set.
  itimerspec never{};
  never.it_value.tv_sec = std::numeric_limits<std::int32_t>::max();
  ::timerfd_settime(clock_set_, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
                    &never, nullptr);
  std::array<pollfd, 3> fds = {
      {{wakeups_, POLLIN, 0}, {timer_, POLLIN, 0}, {clock_set_, POLLIN, 0}}};
  ::poll(fds.data(), fds.size(), -1);
  for (const auto& fd : fds)
    if (fd.revents != 0)
      drain(fd.fd);
}

void waker::wake() noexcept {
  std::uint64_t one = 1;
  [[maybe_unused]] auto put = ::write(wakeups_, &one, sizeof one);
}

}  // namespace bc::daemon
