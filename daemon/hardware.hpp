#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "daemon/token_input.hpp"
#include "pki/hardware_key.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace bc::wire {
struct claims;
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
/// function, or what stands for one, no bond, bridge or VLAN. Sorted. A file
/// that may not be read is a fault, here and below, for the same reason.
[[nodiscard]] result<std::vector<std::string>> physical_nics(
    const std::filesystem::path& folder);

/// The address burnt into an interface, as its driver reports it; nullopt when
/// it reports none or one that is not 6 bytes. Never the current address.
[[nodiscard]] result<std::optional<std::string>> permanent_mac(
    const std::string& interface);

/// The UUIDs of GPUs in a folder of the form of /proc/driver/nvidia/gpus; none
/// where that driver is not loaded.
[[nodiscard]] result<std::vector<std::string>> gpu_uuids(
    const std::filesystem::path& folder);
/// The UUID in one GPU's `information` file; nullopt when the driver does not
/// know it yet, and for a share of a GPU that a hypervisor lends.
[[nodiscard]] std::optional<std::string> gpu_uuid_in(
    std::string_view information);

/// Where a machine shows what it is.
struct machine_places {
  std::filesystem::path dmi = "/sys/class/dmi/id";
  std::filesystem::path net = "/sys/class/net";
  std::filesystem::path nvidia = "/proc/driver/nvidia/gpus";
  std::function<result<std::optional<std::string>>(const std::string&)>
      permanent_mac = daemon::permanent_mac;
};
/// All of it, as one message can hold it: the 64 lowest MACs and GPU UUIDs.
[[nodiscard]] result<pki::hardware_claims> read_machine(
    const machine_places& places);

/// The claims as they travel, and back.
[[nodiscard]] wire::claims to_wire(const pki::hardware_claims& c);
[[nodiscard]] pki::hardware_claims from_wire(const wire::claims& c);

/// The two builds of the daemon differ in these alone: real_hardware.cpp reads
/// the machine, fake_hardware.cpp adds --fake-hardware FILE and, to `join`,
/// --send-any-token, and joins by --server also without pins (trust on first
/// use) and over plain HTTP on loopback.
void add_hardware_options(CLI::App& to, bool of_join);
[[nodiscard]] std::unique_ptr<hardware_source> make_hardware_source();
[[nodiscard]] token_text sent_token_text();
[[nodiscard]] bool joins_without_pins();

}  // namespace bc::daemon
