// spec: ATTESTATION section 5 (mac, gpu, root-only files); CASES 30, 47, 48,
// 54-58, 61
#include "daemon/hardware.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <sys/fsuid.h>
#include <unistd.h>

using namespace bc;
namespace fs = std::filesystem;

namespace {

// A network interface as sysfs shows it.
void add_nic(const temporary_folder& sys, const std::string& name,
             const std::string& device, const std::string& bus,
             const std::string& type = "1") {
  auto nic = sys / ("net/" + name);
  write_text(nic / "type", type + "\n");
  write_text(nic / "uevent", "INTERFACE=" + name + "\n");
  if (device.empty())
    return;
  fs::create_directories(sys / device);
  fs::create_directories(sys / ("bus/" + bus));
  if (!fs::exists(sys / (device + "/subsystem")))
    fs::create_directory_symlink(sys / ("bus/" + bus),
                                 sys / (device + "/subsystem"));
  fs::create_directory_symlink(sys / device, nic / "device");
}

// Reads files as a plain user would, also where the tests run as root.
class plain_user {
 public:
  plain_user() { ::setfsuid(nobody); }
  plain_user(const plain_user&) = delete;
  plain_user& operator=(const plain_user&) = delete;
  ~plain_user() { ::setfsuid(::geteuid()); }

 private:
  static constexpr uid_t nobody = 65'534;
};

// A folder that everybody may look into; single files may still be closed.
void open_to_all(const temporary_folder& folder) {
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::group_read |
                                     fs::perms::group_exec |
                                     fs::perms::others_read |
                                     fs::perms::others_exec);
}

void close_to_others(const fs::path& path) {
  fs::permissions(path, fs::perms::owner_all);
}

template <class T>
void check_needs_root(const result<T>& got, const fs::path& file) {
  REQUIRE_FALSE(got);
  CHECK(got.error().code == errc::invalid_state);
  CHECK_THAT(got.error().message, Catch::Contains("need root"));
  CHECK_THAT(got.error().message, Catch::Contains(file.string()));
}

std::vector<std::string> nics_of(const temporary_folder& sys) {
  auto got = daemon::physical_nics(sys / "net");
  REQUIRE(got);
  return got.value();
}

void add_gpu(const temporary_folder& proc, const std::string& slot,
             const std::string& uuid, const std::string& model = "NVIDIA A10") {
  write_text(proc / ("gpus/" + slot + "/information"),
             "Model: \t\t " + model + "\nIRQ:   \t\t 154\nGPU UUID: \t " +
                 uuid + "\nVideo BIOS: \t 94.02.75.00.01\nBus Location: \t " +
                 slot + "\n");
}

}  // namespace

TEST_CASE(
    "dmi: values lose their line end; missing files are absent "
    "(case 47)") {
  temporary_folder folder;
  write_text(folder / "product_uuid", "6f9619ff-8b86-d011-b42d-00cf4fc964ff\n");
  write_text(folder / "board_serial", "USE2200001      \n");
  auto c = daemon::read_dmi(folder.path());
  REQUIRE(c);
  CHECK(c.value().product_uuid == "6f9619ff-8b86-d011-b42d-00cf4fc964ff");
  CHECK(c.value().board_serial == "USE2200001      ");
  CHECK(c.value().product_serial.empty());
  auto none = daemon::read_dmi(folder / "nothing");
  REQUIRE(none);
  CHECK(none.value() == pki::hardware_claims{});
}

TEST_CASE("dmi: only product, board and chassis have serials (case 51)") {
  temporary_folder folder;
  for (const char* name :
       {"board_asset_tag", "chassis_asset_tag", "product_sku", "product_name",
        "product_family", "bios_version", "modalias"})
    write_text(folder / name, "USE2200001\n");
  for (const char* name : {"product_serial", "board_serial", "chassis_serial"})
    write_text(folder / name, "Default string\n");
  auto c = daemon::read_dmi(folder.path());
  REQUIRE(c);
  CHECK(pki::normalise(c.value()) == pki::identifiers{});
}

TEST_CASE("dmi: bytes that are no text are absent (case 30)") {
  temporary_folder folder;
  write_text(folder / "product_serial", std::string(16, '\xff') + "\n");
  write_text(folder / "board_serial", std::string(300, 'A') + "\n");
  write_text(folder / "chassis_serial", std::string("A\0B", 3));
  auto c = daemon::read_dmi(folder.path());
  REQUIRE(c);
  CHECK(c.value() == pki::hardware_claims{});
}

TEST_CASE("dmi: a file that may not be read stops the join (case 48)") {
  for (const char* name :
       {"product_uuid", "product_serial", "board_serial", "chassis_serial"}) {
    temporary_folder folder;
    open_to_all(folder);
    for (const char* other :
         {"product_uuid", "product_serial", "board_serial", "chassis_serial"})
      write_text(folder / other, "USE2200001\n");
    close_to_others(folder / name);
    CHECK(daemon::read_dmi(folder.path()));
    plain_user reader;
    check_needs_root(daemon::read_dmi(folder.path()), folder / name);
  }
}

TEST_CASE("dmi: a value that is no file is a fault, not an absence") {
  temporary_folder folder;
  fs::create_directory(folder / "product_uuid");
  CHECK_FALSE(daemon::read_dmi(folder.path()));
}

TEST_CASE(
    "nics: only Ethernet on a PCI or platform bus counts "
    "(cases 54, 55, 56, 58)") {
  temporary_folder sys;
  add_nic(sys, "eth1", "devices/pci0000:00/0000:00:1f.6", "pci");
  add_nic(sys, "eth0", "devices/pci0000:00/0000:01:00.0", "pci");
  add_nic(sys, "end0", "devices/platform/fd580000.ethernet", "platform");
  add_nic(sys, "usb0", "devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0",
          "usb");
  add_nic(sys, "usb1", "devices/pci0000:00/0000:00:14.0/usb2/2-1/net-pci",
          "pci");
  add_nic(sys, "virtio0", "devices/pci0000:00/0000:00:03.0/virtio0", "virtio");
  add_nic(sys, "ib0", "devices/pci0000:00/0000:02:00.0", "pci", "32");
  add_nic(sys, "vf0", "devices/pci0000:00/0000:01:10.0", "pci");
  fs::create_directory_symlink(sys / "devices/pci0000:00/0000:01:00.0",
                               sys / "devices/pci0000:00/0000:01:10.0/physfn");
  for (const char* name : {"lo", "docker0", "bond0", "br0", "veth1"})
    add_nic(sys, name, "", "");
  add_nic(sys, "eth0.7", "devices/pci0000:00/0000:01:00.0", "pci");
  write_text(sys / "net/eth0.7/uevent", "DEVTYPE=vlan\nINTERFACE=eth0.7\n");
  CHECK(nics_of(sys) == std::vector<std::string>{"end0", "eth0", "eth1"});
  auto none = daemon::physical_nics(sys / "nothing");
  REQUIRE(none);
  CHECK(none.value().empty());
}

TEST_CASE("nics: what the kernel makes of a device is none (case 55)") {
  temporary_folder sys;
  const std::string slot = "devices/pci0000:00/0000:01:00.0";
  auto add = [&](const std::string& name) { add_nic(sys, name, slot, "pci"); };
  add("eth0");
  add("wlan0");
  write_text(sys / "net/wlan0/uevent", "DEVTYPE=wlan\nINTERFACE=wlan0\n");
  for (const char* type :
       {"vlan", "bond", "bridge", "dsa", "wwan", "macvlan"}) {
    add(type);
    write_text(sys / ("net/" + std::string{type} + "/uevent"),
               "INTERFACE=" + std::string{type} + "\nDEVTYPE=" + type + "\n");
  }
  add("bond1");
  fs::create_directory(sys / "net/bond1/bonding");
  add("br1");
  fs::create_directory(sys / "net/br1/bridge");
  // A switch on the card: its own port, and ports that stand for functions.
  const std::pair<const char*, const char*> ports[] = {{"uplink", "p0"},
                                                       {"vf-port", "pf0vf1"},
                                                       {"host-port", "pf0hpf"},
                                                       {"far", "c1pf0vf2"},
                                                       {"sf-port", "pf1sf88"}};
  for (const auto& [name, port] : ports) {
    add(name);
    write_text(sys / ("net/" + std::string{name} + "/phys_port_name"),
               std::string{port} + "\n");
  }
  write_text(sys / "net/bonding_masters", "bond1\n");
  CHECK(nics_of(sys) == std::vector<std::string>{"eth0", "uplink", "wlan0"});
}

TEST_CASE("nics: a device that has gone is none") {
  temporary_folder sys;
  add_nic(sys, "eth0", "devices/pci0000:00/0000:01:00.0", "pci");
  add_nic(sys, "eth1", "devices/pci0000:00/0000:02:00.0", "pci");
  fs::remove_all(sys / "devices/pci0000:00/0000:02:00.0");
  CHECK(nics_of(sys) == std::vector<std::string>{"eth0"});
}

TEST_CASE("nics: what may not be read is a fault, not an absence (case 48)") {
  temporary_folder sys;
  open_to_all(sys);
  add_nic(sys, "eth0", "devices/pci0000:00/0000:01:00.0", "pci");
  SECTION("the folder") {
    close_to_others(sys / "net");
    plain_user reader;
    check_needs_root(daemon::physical_nics(sys / "net"), sys / "net");
  }
  SECTION("a NIC's file") {
    close_to_others(sys / "net/eth0/type");
    plain_user reader;
    check_needs_root(daemon::physical_nics(sys / "net"), sys / "net/eth0/type");
  }
  SECTION("the device") {
    close_to_others(sys / "devices");
    plain_user reader;
    check_needs_root(daemon::physical_nics(sys / "net"),
                     sys / "net/eth0/device");
  }
}

TEST_CASE(
    "nics: an interface without a burnt-in address has none "
    "(case 56)") {
  for (const auto& name :
       {std::string{"lo"}, std::string{"no-such-nic0"}, std::string(64, 'x')}) {
    INFO(name);
    auto got = daemon::permanent_mac(name);
    REQUIRE(got);
    CHECK_FALSE(got.value());
  }
}

TEST_CASE("gpus: the driver's UUIDs (case 61)") {
  temporary_folder proc;
  auto none = daemon::gpu_uuids(proc / "gpus");
  REQUIRE(none);
  CHECK(none.value().empty());
  const std::string first = "GPU-5ba2c7a2-77d1-4e3c-9f6c-a1b2c3d4e5f6";
  const std::string second = "GPU-0c11d7e8-3a40-9b1f-52d6-7788a0c4e1b3";
  add_gpu(proc, "0000:81:00.0", first, "NVIDIA A100-SXM4-40GB");
  add_gpu(proc, "0000:01:00.0", second);
  add_gpu(proc, "0000:02:00.0", "GPU-" + std::string(36, '?'));
  add_gpu(proc, "0000:03:00.0", "MIG-5ba2c7a2-77d1-4e3c-9f6c-a1b2c3d4e5f6");
  add_gpu(proc, "0000:04:00.0", first, "NVIDIA A40-8Q");
  add_gpu(proc, "0000:05:00.0", first, "GRID A100-1-5CME");
  fs::create_directories(proc / "gpus/0000:06:00.0");  // just unplugged
  auto got = daemon::gpu_uuids(proc / "gpus");
  REQUIRE(got);
  CHECK(got.value() == std::vector<std::string>{second, first});
  CHECK_FALSE(daemon::gpu_uuid_in(""));
  CHECK_FALSE(daemon::gpu_uuid_in("GPU UUID:\nGPU UUID\n:::"));
}

TEST_CASE("gpus: a file that may not be read stops the join (case 48)") {
  temporary_folder proc;
  open_to_all(proc);
  add_gpu(proc, "0000:01:00.0", "GPU-5ba2c7a2-77d1-4e3c-9f6c-a1b2c3d4e5f6");
  close_to_others(proc / "gpus/0000:01:00.0/information");
  plain_user reader;
  check_needs_root(daemon::gpu_uuids(proc / "gpus"),
                   proc / "gpus/0000:01:00.0/information");
}

TEST_CASE("machine: all its claims, from one tree") {
  temporary_folder sys;
  write_text(sys / "dmi/product_uuid",
             "4c4c4544-0044-3510-8052-b4c04f4e3332\n");
  write_text(sys / "dmi/product_serial", "D5R4N32\n");
  add_nic(sys, "eth1", "devices/pci0000:00/0000:02:00.0", "pci");
  add_nic(sys, "eth0", "devices/pci0000:00/0000:01:00.0", "pci");
  add_nic(sys, "docker0", "", "");
  add_gpu(sys, "0000:81:00.0", "GPU-5ba2c7a2-77d1-4e3c-9f6c-a1b2c3d4e5f6");
  std::vector<std::string> asked;
  daemon::machine_places places{
      sys / "dmi", sys / "net", sys / "gpus",
      [&](const std::string& nic) -> result<std::optional<std::string>> {
        asked.push_back(nic);
        return nic == "eth0" ? std::optional<std::string>{"3c:ec:ef:00:00:09"}
                             : std::optional<std::string>{"3c:ec:ef:00:00:08"};
      }};
  auto got = daemon::read_machine(places);
  REQUIRE(got);
  CHECK(asked == std::vector<std::string>{"eth0", "eth1"});
  CHECK(got.value().product_serial == "D5R4N32");
  // A bond gives its slaves one current address, never one of their own (56).
  CHECK(got.value().macs ==
        std::vector<std::string>{"3c:ec:ef:00:00:08", "3c:ec:ef:00:00:09"});
  CHECK(got.value().gpu_uuids.size() == 1);
  CHECK(pki::derive_hardware_key(pki::normalise(got.value())).trusted);

  // An address that cannot be asked for stops the join.
  places.permanent_mac =
      [](const std::string&) -> result<std::optional<std::string>> {
    return fail(errc::invalid_state, "need root");
  };
  CHECK_FALSE(daemon::read_machine(places));
  // A driver without one does not.
  places.permanent_mac =
      [](const std::string&) -> result<std::optional<std::string>> {
    return std::optional<std::string>{};
  };
  got = daemon::read_machine(places);
  REQUIRE(got);
  CHECK(got.value().macs.empty());
}

TEST_CASE("machine: the lowest addresses, as many as a message holds") {
  temporary_folder sys;
  for (int i = 0; i < 70; ++i)
    add_nic(sys, "eth" + std::to_string(i),
            "devices/pci0000:00/" + std::to_string(i), "pci");
  int next = 99;
  daemon::machine_places places{
      sys / "dmi", sys / "net", sys / "gpus",
      [&](const std::string&) -> result<std::optional<std::string>> {
        return std::optional{"3c:ec:ef:00:00:" + std::to_string(next--)};
      }};
  auto got = daemon::read_machine(places);
  REQUIRE(got);
  CHECK(got.value().macs.size() == 64);
  CHECK(got.value().macs.front() == "3c:ec:ef:00:00:30");
  CHECK(got.value().macs.back() == "3c:ec:ef:00:00:93");
}
