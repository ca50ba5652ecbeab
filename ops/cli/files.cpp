#include "ops/cli/files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::cli {

namespace {

std::string why(const std::string& path, const char* what) {
  return std::string{what} + " " + path + ": " + std::strerror(errno);
}

result<void> write_all(int fd, std::string_view content,
                       const std::string& path) {
  while (!content.empty()) {
    auto n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail(errc::unavailable, why(path, "cannot write"));
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return ok();
}

result<void> flush(int fd, const std::string& path) {
  if (::fsync(fd) != 0 && errno != EINVAL)
    return fail(errc::unavailable, why(path, "cannot flush"));
  return ok();
}

// Without this a power loss may undo a rename, or lose a new file's name.
result<void> flush_folder_of(const std::string& path) {
  const auto end = path.rfind('/');
  const auto folder = end == std::string::npos ? std::string{"."}
                      : end == 0               ? std::string{"/"}
                                               : path.substr(0, end);
  int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return fail(errc::unavailable, why(folder, "cannot open"));
  auto flushed = flush(fd, folder);
  ::close(fd);
  return flushed;
}

result<secret_bytes> read_all(int fd, std::size_t limit,
                              const std::string& path) {
  bytes content;
  std::uint8_t chunk[4096];
  for (;;) {
    auto n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail(errc::invalid_config, why(path, "cannot read"));
    if (n == 0)
      break;
    content.insert(content.end(), chunk, chunk + n);
    if (content.size() > limit)
      return fail(errc::invalid_config, path + " is too large");
  }
  wipe(chunk, sizeof chunk);
  return secret_bytes{std::move(content)};
}

// `check` judges the file that was opened, so that nothing can take its place.
template <class Check>
result<secret_bytes> read_secret(const std::string& path, Check check) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fail(errc::invalid_config, why(path, "cannot open"));
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    ::close(fd);
    return fail(errc::invalid_config, path + " is not a regular file");
  }
  if (result<void> good = check(st); !good) {
    ::close(fd);
    return good.error();
  }
  auto content = read_all(fd, 64 * 1024, path);
  ::close(fd);
  if (!content)
    return content;
  auto text = content.value().expose_text();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  return secret_bytes{text};
}

}  // namespace

result<new_secret_file> new_secret_file::create(std::string path) {
  int fd = ::open(path.c_str(),
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST)
    return fail(errc::already_exists,
                path + " exists; choose a new path, nothing was written");
  if (fd < 0)
    return fail(errc::invalid_config, why(path, "cannot create"));
  return new_secret_file{std::move(path), fd};
}

new_secret_file::new_secret_file(new_secret_file&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

new_secret_file::~new_secret_file() {
  if (fd_ < 0)
    return;
  ::close(fd_);
  ::unlink(path_.c_str());
}

result<void> new_secret_file::write(std::string_view content) {
  return write_all(fd_, content, path_);
}

result<void> new_secret_file::keep(std::string_view content) {
  BC_TRYV(write(content));
  BC_TRYV(flush(fd_, path_));
  BC_TRYV(flush_folder_of(path_));
  ::close(std::exchange(fd_, -1));
  return ok();
}

result<void> write_new_secret_file(const std::string& path,
                                   std::string_view content) {
  BC_TRY(file, new_secret_file::create(path));
  return file.keep(content);
}

result<secret_bytes> read_secret_file(const std::string& path) {
  return read_secret(path, [&](const struct stat& st) -> result<void> {
    if ((st.st_mode & 077) == 0)
      return ok();
    return fail(errc::invalid_config,
                path + " can be read by others; run: chmod 600 " + path);
  });
}

result<secret_bytes> read_installed_secret_file(const std::string& path) {
  return read_secret(path, [&](const struct stat& st) -> result<void> {
    if (st.st_uid != ::geteuid() && st.st_uid != 0)
      return fail(errc::invalid_config,
                  path + " belongs to another user, who can change it");
    const mode_t others = st.st_uid == 0 ? 037 : 077;
    if ((st.st_mode & others) == 0)
      return ok();
    return fail(errc::invalid_config,
                path + " is open to others; run: chmod 600 " + path);
  });
}

result<std::optional<secret_bytes>> read_own_secret_file(
    const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 &&
      (errno == ENOENT || errno == ENOTDIR))
    return std::optional<secret_bytes>{};
  if (::access(path.c_str(), R_OK) != 0)
    return fail(errc::access_denied, why(path, "cannot open"));
  BC_TRY(content, read_secret(path, [&](const struct stat& st) -> result<void> {
           if (st.st_uid != ::geteuid())
             return fail(errc::invalid_config,
                         path + " belongs to another user, who can change it");
           if ((st.st_mode & 077) == 0)
             return ok();
           return fail(errc::invalid_config,
                       path + " is open to others; run: chmod 600 " + path);
         }));
  return std::optional{std::move(content)};
}

result<void> replace_secret_file(const std::string& path,
                                 std::string_view content) {
  const auto temporary = path + ".new";
  // Left by a crash.
  ::unlink(temporary.c_str());
  BC_TRYV(write_new_secret_file(temporary, content));
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    auto failed = fail(errc::unavailable, why(path, "cannot replace"));
    ::unlink(temporary.c_str());
    return failed;
  }
  return flush_folder_of(path);
}

result<std::string> read_file(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(errno == ENOENT ? errc::not_found : errc::invalid_config,
                why(path, "cannot open"));
  auto content = read_all(fd, 1024 * 1024, path);
  ::close(fd);
  if (!content)
    return content.error();
  return std::string{content.value().expose_text()};
}

result<void> write_file(const std::string& path, std::string_view content) {
  auto temporary = path + ".new";
  int fd = ::open(temporary.c_str(),
                  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0)
    return fail(errc::invalid_config, why(temporary, "cannot create"));
  auto written = write_all(fd, content, temporary);
  if (written)
    written = flush(fd, temporary);
  ::close(fd);
  BC_TRYV(std::move(written));
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return fail(errc::unavailable, why(path, "cannot rename to"));
  return ok();
}

}  // namespace bc::cli
