// spec: ATTESTATION section 5 (mac, root-only files); CASES 30, 47, 48, 54-58
#include "daemon/hardware.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

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
  if (::geteuid() == 0)
    return;  // root reads everything; the end-to-end tests cover the refusal
  temporary_folder folder;
  write_text(folder / "product_uuid", "x");
  fs::permissions(folder / "product_uuid", fs::perms::none);
  auto c = daemon::read_dmi(folder.path());
  REQUIRE_FALSE(c);
  CHECK_THAT(c.error().message, Catch::Contains("need root"));
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
  CHECK(daemon::physical_nics(sys / "net") ==
        std::vector<std::string>{"end0", "eth0", "eth1"});
  CHECK(daemon::physical_nics(sys / "nothing").empty());
}

TEST_CASE(
    "nics: an interface without a burnt-in address has none "
    "(case 56)") {
  CHECK_FALSE(daemon::permanent_mac("lo"));
  CHECK_FALSE(daemon::permanent_mac("no-such-nic0"));
  CHECK_FALSE(daemon::permanent_mac(std::string(64, 'x')));
}
