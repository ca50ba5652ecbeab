#include "ops/cli/profile_file.hpp"

#include "ops/cli/files.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::cli {

namespace {

namespace fs = std::filesystem;

/// Held by one command of the user at a time.
class file_lock {
 public:
  static result<file_lock> take(const std::string& path) {
    int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                    S_IRUSR | S_IWUSR);
    if (fd < 0)
      return fail(errc::invalid_config,
                  "cannot open " + path + ": " + std::strerror(errno));
    while (::flock(fd, LOCK_EX) != 0)
      if (errno != EINTR) {
        ::close(fd);
        return fail(errc::unavailable,
                    "cannot lock " + path + ": " + std::strerror(errno));
      }
    return file_lock{fd};
  }
  file_lock(file_lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  file_lock& operator=(file_lock&&) = delete;
  ~file_lock() {
    if (fd_ >= 0)
      ::close(fd_);
  }

 private:
  explicit file_lock(int fd) : fd_(fd) {}
  int fd_;
};

std::string folder_of_configuration() {
  // The base directory specification takes absolute paths alone.
  if (const char* set = std::getenv("XDG_CONFIG_HOME");
      set != nullptr && set[0] == '/')
    return set;
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string{home} + "/.config"
                                           : std::string{};
}

result<void> make_folder(const fs::path& path) {
  std::error_code bad;
  fs::create_directories(path.parent_path(), bad);
  if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST)
    return ok();
  return fail(errc::invalid_config, "cannot make the folder " + path.string() +
                                        ": " + std::strerror(errno));
}

// Where the file itself is: a link to it, as people keep their settings
// elsewhere, must stay one.
result<std::string> place_of(const std::string& path) {
  std::error_code bad;
  if (!fs::is_symlink(path, bad))
    return path;
  auto place = fs::canonical(path, bad);
  if (bad)
    return fail(errc::invalid_config,
                path +
                    " is a link to what is not there; make that file or "
                    "remove the link");
  return place.string();
}

}  // namespace

std::string profile_path() {
  auto folder = folder_of_configuration();
  return folder.empty() ? folder : folder + "/better-compute/profile.toml";
}

result<profiles> read_profiles(const std::string& path) {
  BC_TRY(content, read_own_secret_file(path));
  if (!content)
    return profiles{};
  auto all = parse_profiles(content->expose_text());
  if (all)
    return all;
  auto why = std::move(all).error();
  why.message = path + ": " + why.message;
  return why;
}

result<void> change_profiles(
    const std::string& path,
    const std::function<result<void>(profiles&)>& change) {
  if (path.empty())
    return fail(errc::invalid_config,
                "no place for a profile: neither XDG_CONFIG_HOME nor HOME is "
                "an absolute path");
  BC_TRYV(make_folder(fs::path{path}.parent_path()));
  BC_TRY(place, place_of(path));
  BC_TRY(lock, file_lock::take(place + ".lock"));
  static_cast<void>(lock);
  BC_TRY(all, read_profiles(place));
  const auto before = format_profiles(all);
  BC_TRYV(change(all));
  const auto after = format_profiles(all);
  return after == before ? ok() : replace_secret_file(place, after);
}

}  // namespace bc::cli
