// spec: ATTESTATION section 5; CASES areas HW and MAC; joining#binding-a-token
#include "pki/hardware_text.hpp"
#include "tests/pki/hardware_support.hpp"

#include <catch2/catch.hpp>

using namespace bc::pki;
using namespace bc::pki::testing;

namespace {

const std::string uuid_a = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
const std::string uuid_b = "7a1029ee-1b2c-4d3e-9f00-aabbccddeeff";
const std::string mac_a = "3c:ec:ef:00:00:01";
const std::string mac_b = "3c:ec:ef:00:00:02";

std::string cased(std::string text, int (*fold)(int)) {
  for (char& c : text)
    c = static_cast<char>(fold(static_cast<unsigned char>(c)));
  return text;
}
int up(int c) {
  return c >= 'a' && c <= 'z' ? c - 32 : c;
}
int down(int c) {
  return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

bool accepts(const hardware_expectation& wanted, const hardware_claims& c) {
  auto expect = normalise_expectation(wanted);
  return !expect.bad_field && matches(expect.value, c);
}
bool serial_matches(const std::string& wanted, const hardware_claims& c) {
  hardware_expectation e;
  e.serial = wanted;
  return accepts(e, c);
}
bool uuid_matches(const std::string& wanted, const hardware_claims& c) {
  hardware_expectation e;
  e.product_uuid = wanted;
  return accepts(e, c);
}
bool mac_matches(const std::string& wanted, const hardware_claims& c) {
  hardware_expectation e;
  e.mac = wanted;
  return accepts(e, c);
}

struct listed {
  std::string value;
  std::string kind;
};

std::vector<listed> read_list() {
  std::vector<listed> out;
  for (const auto& line : lines_of("dmi_placeholders.txt")) {
    auto first = line.find('\t'), last = line.rfind('\t');
    REQUIRE(first != std::string::npos);
    out.push_back({line.substr(0, first), line.substr(last + 1)});
  }
  return out;
}

}  // namespace

TEST_CASE(
    "hardware: every listed placeholder is dropped in five forms "
    "(cases 29, 43)") {
  auto list = read_list();
  CHECK(list.size() == 130);
  for (const auto& [value, kind] : list) {
    INFO(kind << " '" << value << "'");
    for (const auto& form : {value, cased(value, up), cased(value, down)}) {
      if (kind == "uuid")
        CHECK_FALSE(uuid_survives(form));
      else if (kind == "mac")
        CHECK_FALSE(mac_survives(form));
      else
        CHECK_FALSE(serial_survives(form));
    }
    for (const auto& form : {value + ".", "  " + value + "   "}) {
      CHECK_FALSE(serial_survives(kind == "uuid" || kind == "mac" ? "" : form));
      if (kind == "uuid")
        CHECK_FALSE(uuid_survives(form));
    }
  }
}

TEST_CASE(
    "hardware: serials that only contain a placeholder survive "
    "(cases 29, 41)") {
  for (const char* serial :
       {"1234567XK20", "OEM4471-09", "123-456-789", "NONE7788", "DEFAULT-0042",
        "X00000007", "0000000A1", "11111112", "1234567890A", "USE2200001"}) {
    INFO(serial);
    CHECK(serial_survives(serial));
    CHECK(key_of(claims("", serial, {mac_a})).trusted);
  }
}

TEST_CASE("hardware: UUIDs that only look like fillers survive (case 41)") {
  for (const char* uuid : {"080020FF-FFFF-FFFF-FFFF-0010E0000001",
                           "03DE0294-0480-0500-0006-010700080009",
                           "4c4c4544-0000-2010-8020-80c04f303030",
                           "00000000-0000-0000-0000-ac1f6b000001"}) {
    INFO(uuid);
    CHECK(uuid_survives(uuid));
    CHECK(key_of(claims(uuid, "", {mac_a})).trusted);
  }
}

TEST_CASE(
    "hardware: filler UUIDs are dropped in both byte orders "
    "(cases 26, 50, 52)") {
  for (const char* uuid :
       {"03000200-0400-0500-0006-000700080009",
        "00020003-0004-0005-0006-000700080009",
        "01010101-0101-0101-0101-010101010101",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "fefefefe-fefe-fefe-fefe-fefefefefefe",
        "12345678-1234-5678-90AB-CDDEEFAABBCC",
        "78563412-3412-7856-90AB-CDDEEFAABBCC",
        "00010203-0405-0607-0809-0A0B0C0D0E0F",
        "03020100-0504-0706-0809-0A0B0C0D0E0F",
        "10000000-0000-8000-0040-000000000000",
        "deaddead-dead-dead-dead-deaddeaddead",
        "deadbeef-dead-beef-dead-beefdeadbeef",
        "4c4c4544-0000-2010-8020-80c04f202020",
        "12345678-ffff-ffff-ffff-ffffffffffff", "not settable", ""}) {
    INFO(uuid);
    CHECK_FALSE(uuid_survives(uuid));
    // What is left of such a machine may not be taken for two identifiers.
    CHECK_FALSE(key_of(claims(uuid, "Default string", {mac_a})).trusted);
  }
}

TEST_CASE(
    "hardware: a placeholder board serial does not make two machines one "
    "(case 25)") {
  auto a = claims(uuid_a, "", {mac_a}), b = claims(uuid_b, "", {mac_b});
  a.board_serial = b.board_serial = "To be filled by O.E.M.";
  CHECK(key_of(a).trusted);
  CHECK(key_of(b).trusted);
  CHECK(key_of(a).hex != key_of(b).hex);
}

TEST_CASE(
    "hardware: dots around zeros are a placeholder, around a serial they "
    "belong to it (case 28)") {
  CHECK_FALSE(serial_survives("..0000000."));
  auto box = claims("", "..CN13740000000A.", {mac_a});
  CHECK(normalise(box).serials ==
        std::vector<std::string>{"..CN13740000000A."});
  CHECK(serial_matches("..CN13740000000A.", box));
  CHECK(serial_matches("..cn13740000000a.", box));
  CHECK_FALSE(serial_matches("CN13740000000A", box));
}

TEST_CASE("hardware: bytes that are not UTF-8 are no serial (case 30)") {
  CHECK_FALSE(serial_survives(std::string(16, '\xff')));
  CHECK_FALSE(serial_survives("\xff\xfe\x41"));
}

TEST_CASE("hardware: blanks of every kind are no serial (case 31)") {
  for (const char* blank : {"    ", "\t", "\u00a0", "", "\u3000\u200b"})
    CHECK_FALSE(serial_survives(blank));
  auto key = key_of(
      claims("00000000-0000-0000-0000-000000000000", "    ", {mac_a, mac_b}));
  CHECK_FALSE(key.trusted);
  CHECK(key.only_components);
}

TEST_CASE("hardware: padding does not change the key (case 32)") {
  auto padded = claims(uuid_a, "USE2200001      ");
  auto plain = claims(uuid_a, "USE2200001");
  CHECK(key_of(padded).hex == key_of(plain).hex);
  CHECK(serial_matches("USE2200001", padded));
  CHECK(serial_matches("use2200001", padded));
}

TEST_CASE(
    "hardware: a serial that prints the UUID is no second identifier "
    "(case 33)") {
  auto vm = claims("564d0011-2233-4455-6677-8899aabbccdd",
                   "VMware-56 4d 00 11 22 33 44 55-66 77 88 99 aa bb cc dd");
  CHECK(normalise(vm).serials.empty());
  CHECK_FALSE(key_of(vm).trusted);
  auto swapped = vm;
  swapped.product_uuid = "11004d56-3322-5544-6677-8899aabbccdd";
  CHECK_FALSE(key_of(swapped).trusted);
}

TEST_CASE("hardware: another byte order of the UUID is another key (case 34)") {
  auto one = claims("03DE0294-0480-0500-0006-010700080009", "SN-771X", {mac_a});
  auto other = one;
  other.product_uuid = "9402DE03-8004-0005-0006-010700080009";
  CHECK(key_of(one).hex != key_of(other).hex);
  CHECK_FALSE(uuid_matches(other.product_uuid, one));
}

TEST_CASE("hardware: case and dashes of a UUID (case 36)") {
  auto box = claims(uuid_a, "");
  CHECK(uuid_matches("6F9619FF-8B86-D011-B42D-00CF4FC964FF", box));
  CHECK(uuid_matches("6f9619Ff-8b86-D011-b42d-00cf4fc964ff", box));
  CHECK(uuid_matches("6f9619ff8b86d011b42d00cf4fc964ff", box));
  for (const char* bad :
       {"6f96-19ff8b86d011b42d-00cf4fc964ff", "6f9619ff-8b86d011-b42d-00cf4f",
        "6f9619ff8b86d011b42d00cf4fc964f",
        "------------------------------------"}) {
    hardware_expectation e;
    e.product_uuid = bad;
    CHECK(normalise_expectation(e).bad_field == "productUuid");
  }
}

TEST_CASE(
    "hardware: an expectation that is a placeholder is named "
    "(cases 38, 44)") {
  for (const char* serial : {"0123456789", "N/A", "None", "..0000000.",
                             "7783-7084-3265-9085-8269-3286-77"}) {
    INFO(serial);
    hardware_expectation e;
    e.serial = serial;
    auto normal = normalise_expectation(e);
    CHECK(normal.bad_field == "serial");
    CHECK_FALSE(matches(normal.value, claims("", serial, {mac_a})));
  }
  hardware_expectation e;
  e.product_uuid = "00000000-0000-0000-0000-000000000000";
  CHECK(normalise_expectation(e).bad_field == "productUuid");
}

TEST_CASE(
    "hardware: a UUID made of the MAC or the serial counts once "
    "(case 39)") {
  SECTION("the MAC at its end") {
    auto box = claims("00000000-0000-0000-0000-ac1f6b000001", "",
                      {"ac:1f:6b:00:00:01"});
    CHECK(normalise(box).product_uuid);
    CHECK_FALSE(key_of(box).trusted);
    box.macs = {mac_a};
    CHECK(key_of(box).trusted);
    box.macs = {"ac:1f:6b:00:00:01"};
    box.product_serial = "S123456X";
    CHECK(key_of(box).trusted);
  }
  SECTION("the MAC in its even bytes, in either order") {
    for (const char* uuid : {"03DE0294-0480-0500-0006-010700080009",
                             "9402DE03-8004-0005-0006-010700080009"}) {
      auto box = claims(uuid, "", {"94:DE:80:00:00:01"});
      CHECK_FALSE(key_of(box).trusted);
      box.macs = {mac_a};
      CHECK(key_of(box).trusted);
    }
  }
  SECTION("a serial of its digits, in either order") {
    for (const char* serial : {"9C113CECEF12AA07", "3C:EC:EF:12:AA:07",
                               "7B3E0C521F4A", "520C3E7B4A1F"}) {
      INFO(serial);
      auto box = claims("7b3e0c52-1f4a-4b8d-9c11-3cecef12aa07", serial);
      CHECK(normalise(box).serials.size() == 1);
      CHECK_FALSE(key_of(box).trusted);
      box.macs = {mac_a};
      CHECK(key_of(box).trusted);
      box.board_serial = "USE2200001";
      box.macs.clear();
      CHECK(key_of(box).trusted);
    }
  }
  SECTION("the serial's characters in its last ten bytes") {
    // "CZ22070012" in ASCII.
    auto box = claims("35343637-3033-435a-3232-303730303132", "CZ22070012");
    CHECK(normalise(box).serials.size() == 1);
    CHECK_FALSE(key_of(box).trusted);
    box.macs = {mac_a};
    CHECK(key_of(box).trusted);
    box.macs.clear();
    box.product_serial = "CZ99999999";
    CHECK(key_of(box).trusted);
  }
}

// ATTESTATION 5, derive v1: UUID and serial make the key where both are there,
// one fact or two. A MAC beside them makes it trusted and is not in it, or a
// swapped NIC would lose the node.
TEST_CASE(
    "hardware: a UUID that spells the serial, and a NIC that is swapped") {
  const auto box = [](const std::vector<std::string>& macs) {
    return key_of(
        claims("35343637-3033-435a-3232-303730303132", "CZ22070012", macs));
  };
  CHECK(box({mac_a}).names_a_machine());
  CHECK(box({mac_b}).names_a_machine());
  CHECK(box({mac_a}).hex == box({mac_b}).hex);
  CHECK(box({mac_a, mac_b}).hex == box({mac_a}).hex);
  // The same key, but by itself it names nobody: who has the one fact alone
  // takes no node back.
  CHECK(box({}).hex == box({mac_a}).hex);
  CHECK_FALSE(box({}).names_a_machine());
}

TEST_CASE("hardware: a new UUID is a new key (case 40)") {
  CHECK(key_of(claims(uuid_a, "SERIAL01X", {mac_a, mac_b})).hex !=
        key_of(claims(uuid_b, "SERIAL01X", {mac_b})).hex);
}

TEST_CASE("hardware: blanks of accelerators and new servers (case 45)") {
  auto dpu = claims(uuid_a, "Unspecified System Serial Number", {mac_a});
  dpu.board_serial = "Unspecified Base Board Serial Number";
  CHECK(normalise(dpu).serials.empty());
  CHECK(key_of(dpu).trusted);
  auto hpe = claims("00000000-0000-0000-0000-000000000000", "", {mac_a});
  hpe.board_serial = "PCA_number.ACC";
  CHECK_FALSE(key_of(hpe).trusted);
  CHECK(key_of(hpe).only_components);
}

TEST_CASE("hardware: nothing and only components (case 47)") {
  CHECK(key_of({}).hex.empty());
  CHECK_FALSE(key_of({}).trusted);
  auto macs = key_of(claims("", "", {mac_a, mac_b}));
  CHECK(macs.hex.size() == 64);
  CHECK_FALSE(macs.trusted);
  CHECK(macs.only_components);
  auto both = claims("", "", {mac_a});
  both.gpu_uuids = {"GPU-0123456789abcdef"};
  CHECK(key_of(both).trusted);
  CHECK(key_of(both).only_components);
  // Two parts may be moved to another chassis.
  CHECK_FALSE(key_of(both).names_a_machine());
}

TEST_CASE("hardware: a token may be bound to a serial that prints the UUID") {
  const std::string text = "ec2e1916-9099-7caf-fd21-0a2345abcdef";
  auto cloud = claims(text, text, {});
  CHECK(normalise(cloud).serials.empty());
  CHECK_FALSE(key_of(cloud).trusted);
  hardware_expectation expect;
  expect.serial = text;
  auto wanted = normalise_expectation(expect);
  REQUIRE_FALSE(wanted.bad_field);
  CHECK(matches(wanted.value, normalise(cloud)));
  cloud.product_serial = "ec2e1916-9099-7caf-fd21-0a2345abcdee";
  CHECK_FALSE(matches(wanted.value, normalise(cloud)));
}

TEST_CASE("hardware: the form of a MAC does not matter (case 53)") {
  for (const char* form : {"3c:ec:ef:00:00:01", "3C-EC-EF-00-00-01",
                           "3cecef000001", "3CEC.EF00.0001"}) {
    INFO(form);
    CHECK(normalise(claims("", "", {form})).macs ==
          std::vector<std::string>{mac_a});
    CHECK(mac_matches("3C:EC:EF:00:00:01", claims("", "", {form})));
  }
  for (const char* bad : {"3c:ec-ef:00:00:01", "3c:ecef:00:00:01",
                          ":::::", "3c:ec:ef:00:00:0g", "3c:ec:ef:00:00:01:"})
    CHECK_FALSE(mac_survives(bad));
}

TEST_CASE("hardware: software MACs are dropped and match nothing (case 55)") {
  for (const char* mac :
       {"02:42:ac:11:00:02", "0a:58:a9:fe:00:01", "52:54:00:00:00:01"}) {
    auto box = claims(uuid_a, "", {mac, mac_a});
    CHECK(normalise(box).macs == std::vector<std::string>{mac_a});
    hardware_expectation e;
    e.mac = mac;
    CHECK_FALSE(normalise_expectation(e).bad_field);
    CHECK_FALSE(mac_matches(mac, box));
  }
}

TEST_CASE("hardware: a MAC given twice counts once (case 57)") {
  auto ids = normalise(claims("", "", {mac_a, "3C-EC-EF-00-00-01"}));
  CHECK(ids.macs.size() == 1);
  CHECK_FALSE(derive_hardware_key(ids).trusted);
}

TEST_CASE("hardware: addresses that are not 6 bytes are dropped (case 58)") {
  for (const char* mac :
       {"", "3c:ec:ef:00:00", "50:01:43:80:00:00:00:01",
        "80:00:02:08:fe:80:00:00:00:00:00:00:3c:ec:ef:00:00:00:00:01"})
    CHECK_FALSE(mac_survives(mac));
}

TEST_CASE("hardware: zero, broadcast and multicast MACs (case 60)") {
  for (const char* mac : {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff",
                          "01:00:5e:00:00:01", "33:33:00:00:00:01"}) {
    auto box = claims(uuid_a, "", {mac});
    CHECK(normalise(box).macs.empty());
    CHECK_FALSE(mac_matches(mac, box));
  }
}

TEST_CASE("hardware: GPU slices are no identifiers (case 61)") {
  auto box = claims(uuid_a, "SERIAL01X");
  box.gpu_uuids = {"GPU-0123ABCD-0123-0123-0123-0123456789AB"};
  auto before = key_of(box);
  box.gpu_uuids.push_back("MIG-GPU-0123abcd/1/0");
  box.gpu_uuids.push_back("MIG-0123abcd-0123-0123-0123-0123456789ab");
  box.gpu_uuids.push_back("GPU-00000000-0000-0000-0000-000000000000");
  CHECK(normalise(box).gpu_uuids.size() == 1);
  CHECK(key_of(box).hex == before.hex);
  hardware_expectation e;
  e.gpu_uuid = "GPU-0123abcd-0123-0123-0123-0123456789ab";
  CHECK(accepts(e, box));
  CHECK(gpu_text(normalise_expectation(e).value.gpu_uuid.value()) ==
        e.gpu_uuid);
  CHECK(gpu_text("MIG-0123abcd") == "MIG-0123abcd");
  e.gpu_uuid = "GPU-00000000-0000-0000-0000-000000000000";
  CHECK(normalise_expectation(e).bad_field == "gpuUuid");
}

TEST_CASE("hardware: parts come and go without a new key (case 62)") {
  auto box = claims(uuid_a, "SERIAL01X", {mac_a, mac_b});
  box.gpu_uuids = {"GPU-0123456789abcdef"};
  auto before = key_of(box).hex;
  box.gpu_uuids.clear();
  box.macs = {mac_b};
  CHECK(key_of(box).hex == before);
}

TEST_CASE(
    "hardware: any of the three serials and any MAC satisfies an "
    "expectation") {
  auto box = claims(uuid_a, "PROD0001X", {mac_a, mac_b});
  box.board_serial = "BOARD001X";
  box.chassis_serial = "CHASS001X";
  for (const char* serial : {"prod0001x", "BOARD001X", "Chass001x"})
    CHECK(serial_matches(serial, box));
  CHECK(mac_matches(mac_b, box));
  CHECK_FALSE(serial_matches("OTHER001X", box));
  hardware_expectation e;
  e.serial = "PROD0001X";
  e.product_uuid = uuid_b;
  CHECK_FALSE(accepts(e, box));
  e.product_uuid = uuid_a;
  CHECK(accepts(e, box));
}

TEST_CASE("hardware: the key of version 1 is frozen") {
  // printf 'better-compute/hardware-key/v1\nuuid=…\nserial=…\n' | sha256sum
  CHECK(key_of(claims(uuid_a, "serial01x", {mac_a})).hex ==
        "26226e4bcc2b271598f9b5a7f7c0f28e9082ef6466acf6fed7bd5eff977f13ad");
  CHECK(key_of(claims(uuid_a, "", {mac_b, mac_a})).hex ==
        "359fa6bf47041950cc524c8c28b8e0d3b59024ef1ff3bf292f67d549e53a9ab3");
  auto chassis = claims("", "None");
  chassis.chassis_serial = "chas01x";
  CHECK(key_of(chassis).hex ==
        "31a29f1d806dd36e195a637f25ab6444253a953eb03eeb6640d7ff19030e4f1e");
  CHECK_FALSE(key_of(chassis).trusted);
}
