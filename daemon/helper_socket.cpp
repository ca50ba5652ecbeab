#include "daemon/helper_socket.hpp"

#include "daemon/helper_frames.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <sys/time.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

using steady = std::chrono::steady_clock;

bool is_readable(const helper_socket& s, steady::time_point until) {
  for (;;) {
    const auto left =
        std::chrono::ceil<milliseconds>(until - steady::now()).count();
    if (left <= 0)
      return false;
    pollfd one{s.fd(), POLLIN, 0};
    const auto got = ::poll(&one, 1, static_cast<int>(left));
    if (got >= 0 || errno != EINTR)
      return got > 0;
  }
}

bool receive_all(const helper_socket& s, bytes& into,
                 steady::time_point until) {
  std::size_t at = 0;
  while (at < into.size()) {
    if (!is_readable(s, until))
      return false;
    auto got = ::recv(s.fd(), into.data() + at, into.size() - at, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (got <= 0)
      return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

helper_socket::~helper_socket() {
  if (fd_ >= 0)
    ::close(fd_);
}

helper_socket make_helper_socket() {
  return helper_socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
}

std::optional<sockaddr_un> helper_address(const std::filesystem::path& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  const auto& text = path.native();
  if (text.empty() || text.size() >= sizeof out.sun_path)
    return std::nullopt;
  std::memcpy(out.sun_path, text.data(), text.size());
  return out;
}

void limit(const helper_socket& s, milliseconds most) {
  timeval time{};
  time.tv_sec = most.count() / 1'000;
  time.tv_usec = most.count() % 1'000 * 1'000;
  ::setsockopt(s.fd(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

bool send_all(const helper_socket& s, byte_view what) {
  while (!what.empty()) {
    auto put = ::send(s.fd(), what.data(), what.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    what = what.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

std::optional<bytes> receive_frame(const helper_socket& s, milliseconds most) {
  const auto until = steady::now() + most;
  bytes four(helper_length_size);
  if (!receive_all(s, four, until))
    return std::nullopt;
  auto length = helper_frame_length(four);
  if (!length)
    return std::nullopt;
  bytes out(*length);
  if (!receive_all(s, out, until))
    return std::nullopt;
  return out;
}

}  // namespace bc::daemon
