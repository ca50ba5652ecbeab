// spec: ATTESTATION sections 5 and 8 (hardware keys that the Inventory
// controller and the daemon must derive alike); CASES areas HW and MAC
#include "base/encoding.hpp"
#include "base/json.hpp"
#include "tests/pki/hardware_support.hpp"
#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::testing;

namespace {

using texts = std::vector<std::string>;

struct row {
  const char* name;
  std::string uuid = {};
  std::string product = {};
  std::string board = {};
  std::string chassis = {};
  texts macs = {};
  texts gpus = {};
};

const std::string mac_1 = "3c:ec:ef:00:00:01";
const std::string mac_2 = "3c:ec:ef:00:00:02";
const std::string gpu_1 = "GPU-5ba2c7a2-77d1-4e3c-9f6c-a1b2c3d4e5f6";
const std::string gpu_2 = "GPU-0c11d7e8-3a40-9b1f-52d6-7788a0c4e1b3";
const std::string uuid_1 = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
const std::string nil = "00000000-0000-0000-0000-000000000000";
const std::string oem = "To Be Filled By O.E.M.";

// uuid, product, board, chassis, MACs, GPUs
const row rows[] = {
    {"nothing"},
    {"all of it",
     uuid_1,
     "SN-7701",
     "BRD-7701",
     "CHS-7701",
     {mac_2, mac_1},
     {gpu_1}},
    {"UUID and serial", uuid_1, "SN-7701", "", "", {}, {}},
    {"UUID in upper case", "6F9619FF-8B86-D011-B42D-00CF4FC964FF", "SN-7701"},
    {"UUID without dashes", "6f9619ff8b86d011b42d00cf4fc964ff", "SN-7701"},
    {"UUID in the other order (34)", "ff19966f-868b-11d0-b42d-00cf4fc964ff",
     "SN-7701"},
    {"UUID and MACs", uuid_1, "", "", "", {mac_2, mac_1}, {}},
    {"UUID and GPUs", uuid_1, "", "", "", {}, {gpu_1, gpu_2}},
    {"UUID, MAC and GPU", uuid_1, "", "", "", {mac_1}, {gpu_1}},
    {"UUID alone", uuid_1},
    {"serial and MAC", "", "SN-7701", "", "", {mac_1}, {}},
    {"serial and GPU", "", "SN-7701", "", "", {}, {gpu_1}},
    {"serial alone", "", "SN-7701"},
    {"board serial", uuid_1, oem, "BRD-7701", "CHS-7701", {}, {}},
    {"chassis serial", uuid_1, oem, "None", "CHS-7701", {}, {}},
    {"one serial three times",
     uuid_1,
     "SN-7701",
     "sn-7701",
     "SN-7701 ",
     {},
     {}},
    {"serial padded (32)", uuid_1, "  sn-7701   "},
    {"serial with odd blanks", uuid_1, "\u00a0SN-7701\u200b\u3000"},
    {"serial in dots (28)", "", "..CN13740000000A.", "", "", {mac_1}, {}},
    {"serial that is no text (30)", uuid_1, "\xff\xfe\x41"},
    {"MAC and GPU", "", "", "", "", {mac_1}, {gpu_1}},
    {"MACs alone (31)", nil, "    ", "", "", {mac_2, mac_1}, {}},
    {"GPUs alone", "", "", "", "", {}, {gpu_1, gpu_2}},
    {"MAC in other spellings (53)",
     uuid_1,
     "",
     "",
     "",
     {"3C-EC-EF-00-00-01", "3cec.ef00.0001"},
     {}},
    {"MACs that are none (55, 58, 60)",
     uuid_1,
     "",
     "",
     "",
     {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01",
      "02:42:ac:11:00:02", "52:54:00:12:34:56", "50:01:43:80:00:00:00:01"},
     {}},
    {"GPUs that are none (61)",
     uuid_1,
     "SN-7701",
     "",
     "",
     {},
     {"MIG-GPU-5ba2c7a2/1/0", "MIG-5ba2c7a2-77d1-4e3c-9f6c-a1b2c3d4e5f6",
      "GPU-00000000-0000-0000-0000-000000000000"}},
    {"filler with one NIC (26)",
     "03000200-0400-0500-0006-000700080009",
     "Default string",
     "Default string",
     "Default string",
     {mac_1},
     {}},
    {"zero UUID with a part number (45)",
     nil,
     "",
     "PCA_number.ACC",
     "",
     {mac_1},
     {}},
    {"an accelerator (45)",
     uuid_1,
     "Unspecified System Serial Number",
     "Unspecified Base Board Serial Number",
     "",
     {mac_1},
     {}},
    {"a failing agent's UUID (50)",
     "deaddead-dead-dead-dead-deaddeaddead",
     "SN-7701",
     "",
     "",
     {mac_1},
     {}},
    {"a counter, in the firmware's order (52)",
     "33221100-5544-7766-8899-aabbccddeeff",
     "SN-7701",
     "",
     "",
     {mac_1},
     {}},
    {"Dell", "4c4c4544-0044-3510-8052-b4c04f4e3332", "D5R4N32"},
    {"Dell without a service tag",
     "4c4c4544-0000-2010-8020-80c04f202020",
     "",
     "",
     "",
     {mac_1},
     {}},
    {"HP, the serial in the UUID (39)", "35343637-3033-435a-3232-303730303132",
     "CZ22070012"},
    {"HP with a NIC (39)",
     "35343637-3033-435a-3232-303730303132",
     "CZ22070012",
     "",
     "",
     {mac_1},
     {}},
    {"HP, another serial", "35343637-3033-435a-3232-303730303132",
     "CZ22079999"},
    {"Supermicro, its MAC in the UUID (39)",
     "00000000-0000-0000-0000-ac1f6b000001",
     "",
     "",
     "",
     {"ac:1f:6b:00:00:01"},
     {}},
    {"Supermicro, another NIC (39)",
     "00000000-0000-0000-0000-ac1f6b000001",
     "",
     "",
     "",
     {mac_1},
     {}},
    {"Gigabyte, its MAC in the UUID (39)",
     "03de0294-0480-0500-0006-010700080009",
     "",
     "",
     "",
     {"94:de:80:00:00:01"},
     {}},
    {"VMware, the UUID in the serial (33)",
     "564d0011-2233-4455-6677-8899aabbccdd",
     "VMware-56 4d 00 11 22 33 44 55-66 77 88 99 aa bb cc dd",
     "",
     "",
     {},
     {}},
    {"VMware with a NIC (33)",
     "564d0011-2233-4455-6677-8899aabbccdd",
     "VMware-56 4d 00 11 22 33 44 55-66 77 88 99 aa bb cc dd",
     "",
     "",
     {"00:50:56:9a:7c:11"},
     {}},
    {"a cloud's serial, of the UUID",
     "ec2f8a14-0b7c-91d3-5e60-7a1be8c40219",
     "ec2f8a14-0b7c-91d3-5e60-7a1be8c40219",
     "",
     "",
     {},
     {}},
    {"a cloud's asset tag (44)",
     uuid_1,
     "",
     "",
     "7783-7084-3265-9085-8269-3286-77",
     {mac_1},
     {}},
    {"a serial made of the MAC", "", "S3CECEF000001", "", "", {mac_1}, {}},
};

std::string text_of(const row& r) {
  json::writer out;
  hardware_claims c{r.uuid, r.product, r.board, r.chassis, r.macs, r.gpus, ""};
  auto ids = normalise(c);
  auto key = derive_hardware_key(ids);
  // JSON holds text alone.
  auto shown = [](const std::string& text) {
    return is_utf8(text) ? text : std::string{"(no text)"};
  };
  out.begin_object().field("name", r.name);
  out.key("claims")
      .begin_object()
      .field("productUuid", c.product_uuid)
      .field("productSerial", shown(c.product_serial))
      .field("boardSerial", c.board_serial)
      .field("chassisSerial", c.chassis_serial)
      .field("macs", c.macs)
      .field("gpuUuids", c.gpu_uuids)
      .end_object();
  out.key("identifiers")
      .begin_object()
      .field("productUuid", ids.product_uuid)
      .field("serials", ids.serials)
      .field("macs", ids.macs)
      .field("gpuUuids", ids.gpu_uuids)
      .end_object();
  out.field("hardwareKey", key.hex)
      .field("trusted", key.trusted)
      .field("onlyComponents", key.only_components);
  return out.end_object().str();
}

}  // namespace

TEST_CASE("hardware: keys of many machines, as other programs derive them") {
  std::string all;
  for (const auto& r : rows)
    all += (all.empty() ? "[" : ",\n ") + text_of(r);
  CHECK(std::size(rows) >= 40);
  bc::testing::check_golden("attest/hardware-keys.json", all + "]");
}
