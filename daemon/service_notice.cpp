#include "daemon/service_notice.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace bc::daemon {

void notify_service(std::string_view state) noexcept {
  const char* where = std::getenv("NOTIFY_SOCKET");
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  auto size = where == nullptr ? 0 : std::strlen(where);
  if (size < 2 || size >= sizeof to.sun_path ||
      (where[0] != '/' && where[0] != '@'))
    return;
  std::memcpy(to.sun_path, where, size);
  if (to.sun_path[0] == '@')
    to.sun_path[0] = '\0';
  int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    return;
  ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&to),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size));
  ::close(socket);
}

}  // namespace bc::daemon
