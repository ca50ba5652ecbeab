#include "daemon/hardware.hpp"
#include "daemon/kernel_files.hpp"

#include <algorithm>
#include <sstream>

namespace bc::daemon {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view ethernet = "1";  // ARPHRD_ETHER

result<bool> is_there(const fs::path& path) {
  BC_TRY(where, resolve(path));
  return where.has_value();
}

// Through a USB controller on the PCI bus, the path names the USB bus; such a
// NIC is often the management controller's, with one MAC on every server
// (CASES 54).
bool behind_usb(const fs::path& device) {
  return std::any_of(device.begin(), device.end(), [](const fs::path& part) {
    auto name = part.string();
    return name.starts_with("usb") && name.size() > 3 && name[3] >= '0' &&
           name[3] <= '9';
  });
}

result<bool> is_built_in(const fs::path& device) {
  BC_TRY(virtual_function, is_there(device / "physfn"));
  BC_TRY(subsystem, resolve(device / "subsystem"));
  auto bus = subsystem ? subsystem->filename().string() : std::string{};
  return !virtual_function && (bus == "pci" || bus == "platform") &&
         !behind_usb(device);
}

// What the kernel makes on top of a device, a VLAN or a switch's port say, has
// a type; of those that have one, only radios are devices themselves.
bool has_made_type(std::string_view uevent) {
  std::istringstream lines{std::string{uevent}};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("DEVTYPE="))
      return line != "DEVTYPE=wlan";
  return false;
}

// "pf0vf3", "c1pf0": a port that stands for a function on the other side, with
// an address of the driver's making. "p0" is the port to the network.
bool stands_for_function(std::string_view port) {
  if (port.starts_with('c'))
    port.remove_prefix(
        std::min(port.find_first_not_of("0123456789", 1), port.size()));
  return port.starts_with("pf");
}

result<bool> is_stacked(const fs::path& nic) {
  BC_TRY(bond, is_there(nic / "bonding"));
  BC_TRY(bridge, is_there(nic / "bridge"));
  BC_TRY(uevent, read_kernel_file(nic / "uevent"));
  BC_TRY(port, read_kernel_file(nic / "phys_port_name"));
  return bond || bridge || has_made_type(uevent.value_or("")) ||
         stands_for_function(port.value_or(""));
}

result<bool> is_physical(const fs::path& nic) {
  BC_TRY(type, read_kernel_file(nic / "type"));
  BC_TRY(device, resolve(nic / "device"));
  if (type != ethernet || !device)
    return false;
  BC_TRY(built_in, is_built_in(*device));
  if (!built_in)
    return false;
  BC_TRY(stacked, is_stacked(nic));
  return !stacked;
}

}  // namespace

result<std::vector<std::string>> physical_nics(const fs::path& folder) {
  BC_TRY(names, names_in(folder));
  std::vector<std::string> out;
  for (const auto& name : names) {
    BC_TRY(physical, is_physical(folder / name));
    if (physical)
      out.push_back(name);
  }
  return out;
}

}  // namespace bc::daemon
