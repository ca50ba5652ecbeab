#include "daemon/handover.hpp"

#include "daemon/descriptor.hpp"

#include <algorithm>
#include <array>
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

int open_folder(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

constexpr std::array<std::string_view, 10> our_names = {
    "bcd.lock",         "identity.json", "node.key",   "node.key.next",
    "node.key.pending", "csr.pending",   "ek.pending", "journal.db",
    "status.json",      "site.json"};

// Also what a reset renamed, and what a crash left of a write.
bool is_ours(std::string_view name) {
  if (const auto at = name.find(".reset-"); at != std::string_view::npos)
    name = name.substr(0, at);
  if (name.ends_with(".tmp"))
    name.remove_suffix(4);
  return std::find(our_names.begin(), our_names.end(), name) != our_names.end();
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> out;
  // fdopendir() takes its descriptor over.
  DIR* open = ::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (open == nullptr)
    return out;
  while (const auto* entry = ::readdir(open))
    if (is_ours(entry->d_name))
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

result<bool> take_over(const std::filesystem::path& data_dir,
                       const account& a) {
  descriptor folder{open_folder(data_dir)};
  if (!folder && errno == ENOENT)
    return false;
  struct stat about {};
  if (!folder || ::fstat(folder.get(), &about) != 0)
    return bad("cannot open the data folder " + data_dir.string());
  if (about.st_uid == ::geteuid())
    return false;
  if (about.st_uid != a.user)
    return fail(errc::invalid_state,
                "the data folder " + data_dir.string() +
                    " belongs neither to root nor to the user of [helper]");
  if (::fchown(folder.get(), ::geteuid(), ::getegid()) != 0)
    return bad("cannot take the data folder " + data_dir.string());
  return true;
}

result<void> hand_over(const std::filesystem::path& data_dir,
                       const account& a) {
  descriptor folder{open_folder(data_dir)};
  if (!folder && errno == ENOENT)
    return ok();
  struct stat about {};
  if (!folder || ::fstat(folder.get(), &about) != 0)
    return bad("cannot open the data folder " + data_dir.string());
  // A folder named by mistake, perhaps /etc, is nobody's to give away.
  if (about.st_uid != ::geteuid() || (about.st_mode & 077) != 0)
    return fail(errc::invalid_state,
                "the folder " + data_dir.string() +
                    " is not a data folder of bcd (root's, of mode 0700)");
  for (const auto& name : names_in(folder.get()))
    if (!give(folder.get(), name, a))
      return bad("cannot give " + (data_dir / name).string() +
                 " to the user of [helper]");
  if (::fchown(folder.get(), a.user, a.group) != 0)
    return bad("cannot give the data folder " + data_dir.string() +
               " to the user of [helper]");
  return ok();
}

result<std::unique_ptr<lent_folder>> lent_folder::take(const config& c) {
  if (!c.helper || ::geteuid() != 0)
    return std::unique_ptr<lent_folder>{};
  BC_TRY(to, account_of(c.helper->user));
  std::unique_ptr<lent_folder> out{new lent_folder{c.data_dir, to}};
  std::lock_guard lock{out->mutex_};
  BC_TRY(taken, take_over(c.data_dir, to));
  out->taken_ = taken;
  return out;
}

lent_folder::lent_folder(std::filesystem::path folder, const account& to)
    : folder_(std::move(folder)), to_(to) {
  ::sigemptyset(&set_);
  // What ends the wait; nobody else sends it.
  ::sigaddset(&set_, SIGUSR1);
  for (int which : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction how {};
    // nohup: one that is ignored stays so.
    if (::sigaction(which, nullptr, &how) == 0 && how.sa_handler != SIG_IGN)
      ::sigaddset(&set_, which);
  }
  ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  thread_ = std::thread{[this] { watch_signals(); }};
}

lent_folder::~lent_folder() {
  (void)give_back(false);
  {
    std::lock_guard lock{mutex_};
    ended_ = true;
  }
  ::pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// What is on disk is whole at every moment, so a join may end anywhere.
void lent_folder::watch_signals() {
  int which = 0;
  ::sigwait(&set_, &which);
  std::lock_guard lock{mutex_};
  if (ended_)
    return;
  if (taken_)
    (void)hand_over(folder_, to_);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(which, &usual, nullptr);
  sigset_t one{};
  ::sigemptyset(&one);
  ::sigaddset(&one, which);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(which);
}

result<void> lent_folder::give_back(bool holds_identity) {
  std::lock_guard lock{mutex_};
  if (!std::exchange(taken_, false) && !holds_identity)
    return ok();
  return hand_over(folder_, to_);
}

}  // namespace bc::daemon
