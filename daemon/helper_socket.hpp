#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"

#include <filesystem>
#include <optional>
#include <sys/socket.h>
#include <sys/un.h>
#include <utility>

/// Frames over a Unix socket; of bcd helper and its client alone.
namespace bc::daemon {

/// A descriptor that is closed on every way out.
class helper_socket {
 public:
  explicit helper_socket(int fd) : fd_(fd) {}
  helper_socket(helper_socket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  helper_socket& operator=(helper_socket&&) = delete;
  ~helper_socket();
  [[nodiscard]] int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

[[nodiscard]] helper_socket make_helper_socket();
/// nullopt for a path that does not fit.
[[nodiscard]] std::optional<sockaddr_un> helper_address(
    const std::filesystem::path& path);
/// No send waits for longer.
void limit(const helper_socket& s, milliseconds most);

[[nodiscard]] bool send_all(const helper_socket& s, byte_view what);
/// The content of one frame; nullopt when the peer ends, says more than the
/// bound, or has not sent all of it after this time.
[[nodiscard]] std::optional<bytes> receive_frame(const helper_socket& s,
                                                 milliseconds most);

}  // namespace bc::daemon
