#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace bc::daemon {

/// A folder of mode 0700 for files of mode 0600, held open and locked: of two
/// daemons on one folder the second is turned away (CASES 178).
class private_dir {
 public:
  /// Makes the folder when it is missing. INVALID_STATE for one that others
  /// can enter or that is not ours; CONFLICT "another bcd runs (pid N); stop
  /// the service first: …".
  [[nodiscard]] static result<private_dir> open(
      const std::filesystem::path& path);

  /// A look from outside: no lock, nothing is made, and only read() and holds()
  /// are for it. INVALID_STATE when it cannot be opened.
  [[nodiscard]] static result<private_dir> look(
      const std::filesystem::path& path);

  private_dir(private_dir&& other) noexcept;
  private_dir& operator=(private_dir&&) = delete;
  ~private_dir();

  /// nullopt when there is no such file; never follows a link. INVALID_STATE
  /// for one that is larger than `most` bytes.
  [[nodiscard]] result<std::optional<secret_bytes>> read(
      const std::string& name, std::size_t most = 1 << 20) const;
  /// After a crash at any moment the file holds the old or the new content.
  [[nodiscard]] result<void> write(const std::string& name,
                                   byte_view content) const;
  /// Adds to the end of a file, made when it is missing, and is on disk when it
  /// returns. Of what failed or was cut a part may stand there.
  [[nodiscard]] result<void> append(const std::string& name,
                                    byte_view content) const;
  /// Whether the name is taken, be it by a link that leads nowhere.
  [[nodiscard]] bool holds(const std::string& name) const noexcept;
  /// Never over another file, and still so after a power loss.
  [[nodiscard]] result<void> rename(const std::string& from,
                                    const std::string& to) const;
  /// Over whatever has the name; atomic, and still so after a power loss.
  [[nodiscard]] result<void> replace(const std::string& from,
                                     const std::string& to) const;
  void remove(const std::string& name) const noexcept;
  /// Since the file was written or touched, by the machine's clock: negative
  /// when that was set back. nullopt when there is no such file.
  [[nodiscard]] std::optional<seconds> age(
      const std::string& name) const noexcept;
  void touch(const std::string& name) const noexcept;

 private:
  private_dir(int dir, int lock, std::string path)
      : dir_(dir), lock_(lock), path_(std::move(path)) {}
  [[nodiscard]] fault failed(std::string_view what,
                             const std::string& name) const;
  [[nodiscard]] result<void> sync_folder(const std::string& name) const;

  int dir_ = -1;
  int lock_ = -1;
  std::string path_;
};

}  // namespace bc::daemon
