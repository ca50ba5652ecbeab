#include "base/encoding.hpp"
#include "daemon/hardware.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bc::daemon {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t mac_size = 6;
constexpr std::string_view ethernet = "1";  // ARPHRD_ETHER

std::string text_of(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::string first_line(const fs::path& file) {
  auto text = text_of(file);
  return text.substr(0, text.find('\n'));
}

std::string bus_of(const fs::path& device) {
  std::error_code ec;
  return fs::canonical(device / "subsystem", ec).filename().string();
}

// Through a USB controller on the PCI bus, the path names the USB bus; such a
// NIC is often the management controller's, with one MAC on every server
// (CASES 54).
bool behind_usb(const fs::path& device) {
  std::error_code ec;
  auto path = fs::canonical(device, ec);
  return std::any_of(path.begin(), path.end(), [](const fs::path& part) {
    auto name = part.string();
    return name.starts_with("usb") && name.size() > 3 && name[3] >= '0' &&
           name[3] <= '9';
  });
}

bool is_physical(const fs::path& nic) {
  std::error_code ec;
  auto device = nic / "device";
  if (!fs::exists(device, ec) || fs::exists(device / "physfn", ec))
    return false;
  auto bus = bus_of(device);
  if ((bus != "pci" && bus != "platform") || behind_usb(device))
    return false;
  for (const char* stacked : {"bonding", "bridge"})
    if (fs::exists(nic / stacked, ec))
      return false;
  return text_of(nic / "uevent").find("DEVTYPE=vlan") == std::string::npos &&
         first_line(nic / "type") == ethernet;
}

std::string as_mac(const unsigned char* data) {
  auto hex = to_hex(byte_view{data, mac_size});
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    if (i > 0)
      out += ':';
    out += hex.substr(i, 2);
  }
  return out;
}

}  // namespace

std::vector<std::string> physical_nics(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code ec;
  for (fs::directory_iterator it{folder, ec}, end; !ec && it != end;
       it.increment(ec))
    if (is_physical(it->path()))
      out.push_back(it->path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<std::string> permanent_mac(const std::string& interface) {
  if (interface.size() >= IFNAMSIZ)
    return std::nullopt;
  int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    return std::nullopt;
  constexpr std::uint32_t room = 32;
  alignas(ethtool_perm_addr) unsigned char
      buffer[sizeof(ethtool_perm_addr) + room] = {};
  auto* query = reinterpret_cast<ethtool_perm_addr*>(buffer);
  query->cmd = ETHTOOL_GPERMADDR;
  query->size = room;
  ifreq request{};
  std::memcpy(request.ifr_name, interface.c_str(), interface.size());
  request.ifr_data = reinterpret_cast<char*>(query);
  bool known = ::ioctl(socket, SIOCETHTOOL, &request) == 0;
  ::close(socket);
  const unsigned char* address = buffer + sizeof(ethtool_perm_addr);
  // A driver without one answers zeros.
  if (!known || query->size != mac_size ||
      std::all_of(address, address + mac_size,
                  [](unsigned char b) { return b == 0; }))
    return std::nullopt;
  return as_mac(address);
}

}  // namespace bc::daemon
