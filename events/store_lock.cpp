#include "events/store_lock.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace bc::events::detail {

namespace {

std::string holder_text(int fd) {
  char text[32] = {};
  auto size = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid{text, size > 0 ? static_cast<std::size_t>(size) : 0};
  pid.erase(pid.find_last_not_of(" \n") + 1);
  bool number =
      !pid.empty() && pid.find_first_not_of("0123456789") == std::string::npos;
  return number ? "process " + pid : "another process";
}

}  // namespace

result<store_lock> store_lock::take(const std::string& path) {
  auto file = path + ".lock";
  int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    bool full = errno == ENOSPC || errno == EDQUOT || errno == EMFILE ||
                errno == ENFILE;
    return fail(full ? errc::unavailable : errc::invalid_config,
                "cannot open " + file + ": " + std::strerror(errno));
  }
  store_lock lock{fd};
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    return fail(errc::invalid_state,
                "the store is in use by " + holder_text(fd));
  auto pid = std::to_string(::getpid()) + "\n";
  // The text is for people; without it the lock holds all the same.
  if (::ftruncate(fd, 0) == 0) [[maybe_unused]]
    auto written = ::pwrite(fd, pid.data(), pid.size(), 0);
  return lock;
}

store_lock::~store_lock() {
  if (fd_ >= 0)
    ::close(fd_);
}

}  // namespace bc::events::detail
