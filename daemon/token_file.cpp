#include "daemon/token_file.hpp"

#include "daemon/token_input.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr mode_t all_permissions = 07777;
constexpr mode_t read_write = 0600;
constexpr mode_t read_only = 0400;
constexpr mode_t group_read = 0040;

fault bad(const std::filesystem::path& file, const std::string& what) {
  return fail(errc::invalid_input,
              "the token file " + file.string() + " " + what);
}

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

std::optional<std::string> why_not(const struct stat& about) {
  if (!S_ISREG(about.st_mode))
    return "is not a regular file";
  auto mode = about.st_mode & all_permissions;
  if (mode == read_write || mode == read_only)
    return std::nullopt;
  std::string out = "has mode " + octal(mode) +
                    "; it must be 0600 or 0400, for its owner alone";
  // What a Secret's defaultMode 0400 becomes in a pod with an fsGroup.
  if ((mode & ~group_read) == read_only)
    out +=
        " (of a Kubernetes Secret: with defaultMode 0400, fsGroup in the pod's "
        "securityContext adds the group's read bit; leave fsGroup out)";
  return out;
}

// All of it, or -1; one byte over the limit tells that there is more.
std::ptrdiff_t read_all(int fd, bytes& into) {
  std::size_t at = 0;
  while (at < into.size()) {
    auto got = ::read(fd, into.data() + at, into.size() - at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return -1;
    if (got == 0)
      break;
    at += static_cast<std::size_t>(got);
  }
  return static_cast<std::ptrdiff_t>(at);
}

}  // namespace

result<token_in_file> read_token_file(const std::filesystem::path& file) {
  // NONBLOCK: opening a pipe nobody writes to would wait for ever.
  int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0)
    return bad(file, std::string{"cannot be opened: "} + std::strerror(errno));
  struct stat about {};
  std::optional<std::string> refused;
  if (::fstat(fd, &about) != 0)
    refused = std::string{"cannot be read: "} + std::strerror(errno);
  else
    refused = why_not(about);
  bytes content(max_token_input + 1);
  std::ptrdiff_t size = 0;
  if (!refused && (size = read_all(fd, content)) < 0)
    refused = std::string{"cannot be read: "} + std::strerror(errno);
  ::close(fd);
  if (refused)
    return bad(file, *refused);
  secret_bytes all{std::move(content)};
  auto token = clean_token(all.expose().first(static_cast<std::size_t>(size)));
  if (!token)
    return bad(file, "holds no token: " + token.error().message);
  std::error_code ec;
  auto itself = std::filesystem::canonical(file, ec);
  return token_in_file{std::move(token).value(), ec ? file : itself,
                       about.st_dev, about.st_ino};
}

std::optional<std::string> remove_token_file(const std::filesystem::path& given,
                                             const token_in_file& read) {
  struct stat about {};
  auto still = [&] {
    return "the token file " + read.file.string() + " was not removed: ";
  };
  if (::lstat(read.file.c_str(), &about) != 0)
    return errno == ENOENT ? std::nullopt
                           : std::optional{still() + std::strerror(errno)};
  if (about.st_dev != read.device || about.st_ino != read.inode)
    return still() + "another file is in its place";
  if (::unlink(read.file.c_str()) != 0)
    return still() + std::strerror(errno);
  if (given != read.file)
    ::unlink(given.c_str());  // a link that leads nowhere now
  return std::nullopt;
}

}  // namespace bc::daemon
