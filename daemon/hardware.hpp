#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "pki/hardware_key.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace bc::daemon {

/// Where a machine's hardware claims come from.
class hardware_source {
 public:
  virtual ~hardware_source() = default;
  /// All claims or a fault; never a part of them.
  [[nodiscard]] virtual result<pki::hardware_claims> read() = 0;
};

/// Product UUID and serials from a folder of the form of /sys/class/dmi/id. A
/// file that is missing or holds no UTF-8 text is absent; one that may not be
/// read is a fault, so that no machine is known by a part of its identifiers.
[[nodiscard]] result<pki::hardware_claims> read_dmi(
    const std::filesystem::path& folder);

/// The names of physical network interfaces in a folder of the form of
/// /sys/class/net: Ethernet on a PCI or platform bus; no USB, virtual
/// function, bond, bridge or VLAN. Sorted.
[[nodiscard]] std::vector<std::string> physical_nics(
    const std::filesystem::path& folder);

/// The address burnt into an interface, as its driver reports it; nullopt when
/// it reports none or one that is not 6 bytes. Never the current address.
[[nodiscard]] std::optional<std::string> permanent_mac(
    const std::string& interface);

/// The two builds of the daemon differ in these alone: real_hardware.cpp reads
/// the machine, fake_hardware.cpp adds --fake-hardware FILE.
void add_hardware_options(CLI::App& join);
[[nodiscard]] std::unique_ptr<hardware_source> make_hardware_source();

}  // namespace bc::daemon
