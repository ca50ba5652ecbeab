#include "daemon/handover.hpp"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bc::daemon {

namespace {

fault bad(const std::string& what) {
  return fail(errc::invalid_state, what + ": " + std::strerror(errno));
}

class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

int open_folder(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> out;
  // fdopendir() takes its descriptor over.
  DIR* open = ::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (open == nullptr)
    return out;
  while (const auto* entry = ::readdir(open))
    out.emplace_back(entry->d_name);
  ::closedir(open);
  return out;
}

// By a descriptor, so that what was looked at is what changes. A file with
// another name elsewhere is left: it may be no file of ours.
bool give(int folder, const std::string& name, const account& a) {
  descriptor file{::openat(folder, name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  struct stat about {};
  if (!file)
    return errno == ELOOP || errno == ENOENT || errno == ENXIO;
  if (::fstat(file.get(), &about) != 0)
    return false;
  if (!S_ISREG(about.st_mode) || about.st_nlink != 1)
    return true;
  return ::fchown(file.get(), a.user, a.group) == 0;
}

}  // namespace

result<account> account_of(const std::string& user) {
  std::vector<char> buffer(16'384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(),
                   &found) != 0 ||
      found == nullptr)
    return fail(errc::invalid_config,
                "[helper] user: this machine has no user " + user);
  if (found->pw_uid == 0)
    return fail(errc::invalid_config,
                "[helper] user must not be root: without [helper] bcd node is "
                "root's");
  return account{found->pw_uid, found->pw_gid};
}

result<void> take_over(const std::filesystem::path& data_dir,
                       const account& a) {
  descriptor folder{open_folder(data_dir)};
  if (!folder && errno == ENOENT)
    return ok();
  struct stat about {};
  if (!folder || ::fstat(folder.get(), &about) != 0)
    return bad("cannot open the data folder " + data_dir.string());
  if (about.st_uid == ::geteuid())
    return ok();
  if (about.st_uid != a.user)
    return fail(errc::invalid_state,
                "the data folder " + data_dir.string() +
                    " belongs neither to root nor to the user of [helper]");
  if (::fchown(folder.get(), ::geteuid(), ::getegid()) != 0)
    return bad("cannot take the data folder " + data_dir.string());
  return ok();
}

result<void> hand_over(const std::filesystem::path& data_dir,
                       const account& a) {
  descriptor folder{open_folder(data_dir)};
  if (!folder)
    return bad("cannot open the data folder " + data_dir.string());
  for (const auto& name : names_in(folder.get()))
    if (!give(folder.get(), name, a))
      return bad("cannot give " + (data_dir / name).string() +
                 " to the user of [helper]");
  if (::fchown(folder.get(), a.user, a.group) != 0)
    return bad("cannot give the data folder " + data_dir.string() +
               " to the user of [helper]");
  return ok();
}

}  // namespace bc::daemon
