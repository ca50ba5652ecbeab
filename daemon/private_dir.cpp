#include "daemon/private_dir.hpp"

#include "base/fault_point.hpp"
#include "daemon/descriptor.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace bc::daemon {

namespace {

constexpr const char* lock_name = "bcd.lock";

fault bad(std::string message) {
  return fail(errc::invalid_state, std::move(message));
}

// Folders made on the way are ours alone, whatever the umask says.
bool make_folders(const std::filesystem::path& path) {
  std::filesystem::path at;
  for (const auto& part : path) {
    at /= part;
    if (::mkdir(at.c_str(), 0700) != 0 && errno != EEXIST)
      return false;
  }
  return true;
}

std::string holder_of(int lock) {
  char text[32] = {};
  auto got = ::pread(lock, text, sizeof text - 1, 0);
  std::string pid{text, got > 0 ? static_cast<std::size_t>(got) : 0};
  while (!pid.empty() && pid.back() == '\n')
    pid.pop_back();
  return pid.empty() ? "unknown" : pid;
}

bool write_all(int fd, byte_view content) {
  while (!content.empty()) {
    auto put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return false;
    content = content.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

result<int> take_lock(int dir) {
  descriptor lock{::openat(dir, lock_name,
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!lock)
    return bad(std::string{"cannot open bcd.lock: "} + std::strerror(errno));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(errc::conflict,
                "another bcd runs (pid " + holder_of(lock.get()) +
                    "); stop the service first: systemctl stop bcd");
  // For people alone; on a full disk it cannot be written.
  auto pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock.get(), 0) == 0)
    (void)write_all(lock.get(), as_bytes(pid));
  return lock.release();
}

}  // namespace

result<private_dir> private_dir::open(const std::filesystem::path& path) {
  if (!make_folders(path))
    return bad("cannot make the data folder " + path.string() + ": " +
               std::strerror(errno));
  descriptor dir{
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!dir)
    return bad("cannot open the data folder " + path.string() + ": " +
               std::strerror(errno));
  struct stat about {};
  // Not mended by a chmod: the folder may be one that others rely on.
  if (::fstat(dir.get(), &about) != 0 || about.st_uid != ::geteuid() ||
      (about.st_mode & 077) != 0)
    return bad("the data folder " + path.string() +
               " must belong to the user bcd runs as and have mode 0700");
  BC_TRY(lock, take_lock(dir.get()));
  return private_dir{dir.release(), lock, path.string()};
}

result<private_dir> private_dir::look(const std::filesystem::path& path) {
  int dir = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0)
    return bad("cannot open the data folder " + path.string() + ": " +
               std::strerror(errno));
  return private_dir{dir, -1, path.string()};
}

private_dir::private_dir(private_dir&& other) noexcept
    : dir_(std::exchange(other.dir_, -1)),
      lock_(std::exchange(other.lock_, -1)),
      path_(std::move(other.path_)) {}

private_dir::~private_dir() {
  if (lock_ >= 0)
    ::close(lock_);
  if (dir_ >= 0)
    ::close(dir_);
}

fault private_dir::failed(std::string_view what,
                          const std::string& name) const {
  return bad("cannot " + std::string{what} + " " + path_ + "/" + name + ": " +
             std::strerror(errno));
}

// Without this a rename may be undone by a power loss.
result<void> private_dir::sync_folder(const std::string& name) const {
  if (::fsync(dir_) != 0)
    return failed("sync the folder of", name);
  return ok();
}

result<std::optional<secret_bytes>> private_dir::read(const std::string& name,
                                                      std::size_t most) const {
  descriptor file{::openat(dir_, name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (!file) {
    if (errno == ENOENT)
      return std::optional<secret_bytes>{};
    return failed("open", name);
  }
  struct stat about {};
  if (::fstat(file.get(), &about) != 0)
    return failed("read", name);
  auto size = static_cast<std::size_t>(about.st_size);
  if (!S_ISREG(about.st_mode) || size > most)
    return bad(path_ + "/" + name + " is not a file bcd wrote");
  bytes content(size);
  std::size_t at = 0;
  while (at < size) {
    auto got = ::read(file.get(), content.data() + at, size - at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return failed("read", name);
    at += static_cast<std::size_t>(got);
  }
  return std::optional{secret_bytes{std::move(content)}};
}

result<void> private_dir::write(const std::string& name,
                                byte_view content) const {
  auto temporary = name + ".tmp";
  // Left by a crash; the lock says that nobody else is writing it.
  ::unlinkat(dir_, temporary.c_str(), 0);
  descriptor file{::openat(dir_, temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           0600)};
  if (!file)
    return failed("create", temporary);
  if (!write_all(file.get(), content) || ::fsync(file.get()) != 0 ||
      ::renameat(dir_, temporary.c_str(), dir_, name.c_str()) != 0) {
    auto why = failed("write", name);
    ::unlinkat(dir_, temporary.c_str(), 0);
    return why;
  }
  return sync_folder(name);
}

result<void> private_dir::append(const std::string& name,
                                 byte_view content) const {
  const bool is_new = !holds(name);
  descriptor file{::openat(
      dir_, name.c_str(),
      O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
      0600)};
  if (!file)
    return failed("open", name);
  auto half = content.size() / 2;
  if (!write_all(file.get(), content.first(half)))
    return failed("write", name);
  if (hit(fault_point::daemon_half_append) != fault_action::none) {
    errno = ENOSPC;
    return failed("write", name);
  }
  if (!write_all(file.get(), content.subspan(half)) || ::fsync(file.get()) != 0)
    return failed("write", name);
  return is_new ? sync_folder(name) : ok();
}

bool private_dir::holds(const std::string& name) const noexcept {
  struct stat about {};
  return ::fstatat(dir_, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 ||
         errno != ENOENT;
}

result<void> private_dir::rename(const std::string& from,
                                 const std::string& to) const {
  // The lock says that nobody else takes the name in between.
  if (holds(to))
    return bad(path_ + "/" + to + " exists");
  if (::renameat(dir_, from.c_str(), dir_, to.c_str()) != 0)
    return failed("rename", from);
  return sync_folder(to);
}

result<void> private_dir::replace(const std::string& from,
                                  const std::string& to) const {
  if (::renameat(dir_, from.c_str(), dir_, to.c_str()) != 0)
    return failed("rename", from);
  return sync_folder(to);
}

void private_dir::remove(const std::string& name) const noexcept {
  ::unlinkat(dir_, name.c_str(), 0);
}

std::optional<seconds> private_dir::age(
    const std::string& name) const noexcept {
  struct stat about {};
  timespec now{};
  if (::fstatat(dir_, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::clock_gettime(CLOCK_REALTIME, &now) != 0)
    return std::nullopt;
  return seconds{now.tv_sec - about.st_mtim.tv_sec};
}

void private_dir::touch(const std::string& name) const noexcept {
  ::utimensat(dir_, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace bc::daemon
