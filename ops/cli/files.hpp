#pragma once

#include "base/result.hpp"
#include "base/secret_bytes.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace bc::cli {

/// A file that did not exist before, 0600 from its first moment; removed again
/// unless kept. Symlinks are never followed.
class new_secret_file {
 public:
  /// ALREADY_EXISTS when there is anything at the path.
  [[nodiscard]] static result<new_secret_file> create(std::string path);
  new_secret_file(new_secret_file&& other) noexcept;
  new_secret_file& operator=(new_secret_file&&) = delete;
  ~new_secret_file();

  [[nodiscard]] result<void> write(std::string_view content);
  /// Writes the last of it, flushes it and its name to disk, and keeps the
  /// file.
  [[nodiscard]] result<void> keep(std::string_view content);

 private:
  new_secret_file(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_ = -1;
};

/// The same in one call.
[[nodiscard]] result<void> write_new_secret_file(const std::string& path,
                                                 std::string_view content);

/// The text of a regular file that its owner alone can read (0600 or 0400), at
/// most 64 KiB, without trailing line ends. INVALID_CONFIG otherwise.
[[nodiscard]] result<secret_bytes> read_secret_file(const std::string& path);

/// The same for a service, whose file somebody else may have put there: it
/// belongs to this user or to root, and root's may be readable by its group
/// (so systemd hands over credentials, and Kubernetes its secrets).
[[nodiscard]] result<secret_bytes> read_installed_secret_file(
    const std::string& path);

/// The same for a person's own file, which may not be there: nullopt then. It
/// belongs to this user; ACCESS_DENIED when it may not be opened.
[[nodiscard]] result<std::optional<secret_bytes>> read_own_secret_file(
    const std::string& path);

/// Makes or replaces a file (0600) in one rename, on disk when this returns.
/// One writer at a time: the new content waits beside it under PATH.new.
[[nodiscard]] result<void> replace_secret_file(const std::string& path,
                                               std::string_view content);

/// A whole file, at most 1 MiB; NOT_FOUND or INVALID_CONFIG.
[[nodiscard]] result<std::string> read_file(const std::string& path);

/// Replaces a file that is not secret (0644) in one rename.
[[nodiscard]] result<void> write_file(const std::string& path,
                                      std::string_view content);

}  // namespace bc::cli
