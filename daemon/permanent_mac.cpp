#include "base/encoding.hpp"
#include "daemon/hardware.hpp"
#include "daemon/kernel_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr std::size_t mac_size = 6;

std::string as_mac(byte_view address) {
  auto out = to_hex(address);
  for (std::size_t at : {10UL, 8UL, 6UL, 4UL, 2UL})
    out.insert(at, 1, ':');
  return out;
}

// A driver that knows no address, or a device that has just gone.
bool has_none(int why) {
  return why == EOPNOTSUPP || why == ENODEV || why == EINVAL;
}

}  // namespace

result<std::optional<std::string>> permanent_mac(const std::string& interface) {
  const std::optional<std::string> none;
  if (interface.size() >= IFNAMSIZ)
    return none;
  auto what = "the permanent address of " + interface;
  int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    return cannot_read(what, errno);
  constexpr std::uint32_t room = 32;
  alignas(ethtool_perm_addr) unsigned char
      buffer[sizeof(ethtool_perm_addr) + room] = {};
  auto* query = reinterpret_cast<ethtool_perm_addr*>(buffer);
  query->cmd = ETHTOOL_GPERMADDR;
  query->size = room;
  ifreq request{};
  std::memcpy(request.ifr_name, interface.c_str(), interface.size());
  request.ifr_data = reinterpret_cast<char*>(query);
  int why = ::ioctl(socket, SIOCETHTOOL, &request) == 0 ? 0 : errno;
  ::close(socket);
  if (has_none(why))
    return none;
  if (why != 0)
    return cannot_read(what, why);
  byte_view address{buffer + sizeof(ethtool_perm_addr), mac_size};
  // A driver without one answers zeros.
  if (query->size != mac_size || std::all_of(address.begin(), address.end(),
                                             [](auto b) { return b == 0; }))
    return none;
  return std::optional{as_mac(address)};
}

}  // namespace bc::daemon
