// spec: CASES head ("build the rule, not the example"), 29, 41, 52;
// ATTESTATION section 5
#include "base/text.hpp"
#include "tests/pki/hardware_support.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <set>

using namespace bc::pki;
using namespace bc::pki::testing;

namespace {

const std::string own_mac = "3c:ec:ef:00:00:01";

// Of the folder, but for the lines of comments.
std::string sources() {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator{
           std::string{BC_SOURCE_DIR} + "/pki"}) {
    std::ifstream in{entry.path()};
    for (std::string line; std::getline(in, line);)
      if (!bc::trimmed(line).starts_with("//"))
        all += line + "\n";
  }
  return all;
}

std::string upper(std::string text) {
  for (char& c : text)
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

// Neither list may be won by writing its values into the program.
void check_not_copied(const std::vector<std::string>& list) {
  auto text = upper(sources());
  REQUIRE(text.size() > 10'000);
  for (const auto& value : list) {
    INFO(value);
    CHECK(text.find('"' + upper(value) + '"') == std::string::npos);
  }
}

std::vector<std::string> distinct_lines(const std::string& name) {
  auto list = lines_of(name);
  CHECK(list.size() >= 150);
  CHECK(std::set<std::string>(list.begin(), list.end()).size() == list.size());
  return list;
}

}  // namespace

TEST_CASE("placeholders: serials in the shape of real ones survive (case 41)") {
  auto list = distinct_lines("real_serials.txt");
  for (const auto& serial : list) {
    INFO(serial);
    CHECK(serial_survives(serial));
    CHECK(serial_survives("  " + serial + "\t"));
    CHECK(key_of(claims("", serial, {own_mac})).trusted);
  }
  check_not_copied(list);
}

TEST_CASE(
    "placeholders: other members of the families are dropped too "
    "(case 29)") {
  auto list = distinct_lines("placeholder_members.txt");
  for (const auto& serial : list) {
    INFO(serial);
    for (const auto& form :
         {serial, upper(serial), serial + ".", "  " + serial + "   ",
          "-" + serial + "_", "/" + serial + "/"})
      CHECK_FALSE(serial_survives(form));
  }
  check_not_copied(list);
}

TEST_CASE("placeholders: UUIDs that somebody filled in (cases 50, 52)") {
  for (const char* uuid : {
           // Nearly one value, also with version and variant stamped.
           "00000000-0000-0000-0000-000000000001",
           "00000000-0000-4000-8000-000000000000",
           "ffffffff-ffff-4fff-bfff-ffffffffffff",
           "11111111-1111-4111-8111-111111111111",
           "ffffffff-ffff-ffff-ffff-fffffffffffe",
           "10000000-0000-8000-0040-000000000000",
           "00000000-0000-0000-0000-000000000a01",
           "00000000-0000-0000-0000-ffffffffffff",
           "20202020-2020-2020-2020-202020202020",
           // Counters.
           "00112233-4455-6677-8899-aabbccddeeff",
           "33221100-5544-7766-8899-aabbccddeeff",
           "ffeeddcc-bbaa-9988-7766-554433221100",
           "11223344-5566-7788-99aa-bbccddeeff00",
           "44332211-6655-8877-99aa-bbccddeeff00",
           "0f0e0d0c-0b0a-0908-0706-050403020100",
           "01020304-0506-0708-090a-0b0c0d0e0f10",
           "01020304-0506-0708-0910-111213141516",
           "01234567-89ab-cdef-0123-456789abcdef",
           "12345678-9abc-def0-1234-56789abcdef0",
           "12345678-90ab-cdef-1234-567890abcdef",
           "fedcba98-7654-3210-fedc-ba9876543210",
           "12345678-9012-3456-7890-123456789012",
           "00010002-0003-0004-0005-000600070008",
           "f8f9fafb-fcfd-feff-0001-020304050607",
           "fffdfffe-ffff-0000-0001-000200030004",
           "00000001-0000-0002-0000-000300000004",
           "00000000-0000-0000-0102-030405060708",
           "01020304-0506-0708-0000-000000000000",
           // Cycles and words of hexadecimal.
           "deadbeef-dead-beef-dead-beefdeadbeef",
           "efbeadde-adde-efbe-dead-beefdeadbeef",
           "cafebabe-cafe-babe-cafe-babecafebabe",
           "deadbeef-cafe-babe-feed-facedeadc0de",
           "deadbeef-0000-0000-0000-000000000000",
           "badcafee-badc-afee-badc-afeebadcafee",
           "feedface-feed-4ace-beed-facefeedface",
           "abcdefab-cdef-abcd-efab-cdefabcdefab",
           "abababab-abab-abab-abab-abababababab",
           // Group by group.
           "11111111-2222-3333-4444-555555555555",
           "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
           "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
           "12345678-1234-1234-1234-123456789abc",
           "12345678-1234-1234-1234-123456789012",
           "12345678-1234-5678-1234-567812345678",
           "01234567-0123-0123-0123-0123456789ab",
           // A placeholder's characters: "Default string", "To be filled by ",
           // "0123456789012345", a product number with blanks and with "NONE".
           "44656661-756c-7420-7374-72696e670000",
           "61666544-6c75-2074-7374-72696e670000",
           "546f2062-6520-6669-6c6c-656420627920",
           "30313233-3435-3637-3839-303132333435",
           "38373930-3136-2020-2020-202020202020",
           "38373930-3136-4e4f-4e45-202020202020",
           "38373930-3136-3030-3030-303030303030",
           // Filler after a few bytes of the vendor's.
           "8a2c41d7-ffff-ffff-ffff-ffffffffffff",
           "8a2c41d7-90b1-0000-0000-000000000000",
           // A vendor's form without what makes it unique.
           "4c4c4544-0020-2010-8020-a0c04f202020",
           "4c4c4544-0000-0010-8000-80c04f000000",
           "4c4c4544-0058-5810-8058-d8c04f585858",
           "44454c4c-0000-1020-8020-80c04f202020",
           "ff02ff03-ff04-ff05-ff06-ff07ff08ff09",
           "03000200-0400-0500-0006-010700080009",
       }) {
    INFO(uuid);
    CHECK_FALSE(uuid_survives(uuid));
    CHECK_FALSE(uuid_survives(upper(uuid)));
  }
}

TEST_CASE("placeholders: UUIDs that are someone's own survive (case 41)") {
  for (const char* uuid : {
           "4c4c4544-0044-3510-8052-b4c04f4e3332",  // Dell
           "4c4c4544-0030-3010-8030-b0c04f303041",
           "35343637-3033-435a-3232-303730303132",  // HP
           "38373930-3136-4d58-5138-313230463741",
           "00000000-0000-0000-0000-002590000001",  // Supermicro
           "00000000-0000-0000-0000-0030482a5c61",
           "00000000-0000-0000-0000-3cecef000100",
           "03de0294-0480-0500-0006-010700080009",  // Gigabyte
           "02020000-0400-0500-0006-9c0700080009",
           "080020ff-ffff-ffff-ffff-0010e0000001",  // Oracle
           "564d0011-2233-4455-6677-8899aabbccdd",  // VMware
           "4237f0a1-0000-0000-0000-8c1d4e0b7a32",
           "ec2f8a14-0b7c-91d3-5e60-7a1be8c40219",
           "7b3e0c52-0000-1000-8000-3cecef12aa07",
           "12345678-1234-5678-90ab-3cecef12aa07",
           "deadbeef-0b7c-41d3-9e60-7a1be8c40219",
           "00112233-4455-41d3-9e60-7a1be8c40219",
           "1d4f8a60-ffff-ffff-ffff-0010e0a31c44",
           "00000000-0000-0001-0000-3cecef12aa07",
           "7c1e0000-0000-0000-0000-0000000009a4",
           "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
       }) {
    INFO(uuid);
    CHECK(uuid_survives(uuid));
  }
}

TEST_CASE("placeholders: addresses that nobody assigned (case 60)") {
  for (const char* mac :
       {"00:00:00:00:00:01", "88:88:88:88:87:88", "20:20:20:20:20:20",
        "00:11:22:33:44:55", "00:01:02:03:04:05", "00:12:34:56:78:9a",
        "00:01:23:45:67:89", "00:12:34:56:78:90", "00:de:ad:be:ef:00",
        "44:45:53:54:42:00", "00:50:56:c0:00:03", "10:10:10:10:10:10"}) {
    INFO(mac);
    CHECK_FALSE(mac_survives(mac));
  }
  for (const char* mac :
       {"3c:ec:ef:00:00:00", "3c:ec:ef:00:00:01", "00:25:90:00:00:01",
        "94:de:80:00:00:01", "0c:ea:14:00:00:01", "00:50:56:9a:00:03",
        "00:11:22:33:44:56", "44:45:53:55:00:01", "00:de:ad:0b:ee:f0",
        "00:10:e0:00:00:01", "e4:43:4b:12:34:56"}) {
    INFO(mac);
    CHECK(mac_survives(mac));
  }
}

TEST_CASE("placeholders: UUIDs an operator knows to be shared") {
  const std::string known = "30343536-3138-5a43-3231-313130325a47";
  const std::string swapped = "36353430-3831-435a-3231-313130325a47";
  const std::vector<std::string> texts = {"  " + upper(known)};
  auto shared = shared_uuids::parse(texts);
  REQUIRE(shared);
  for (const auto& uuid : {known, swapped}) {
    INFO(uuid);
    auto box = claims(uuid, "SN-7701", {own_mac});
    auto known_box = normalise(box);
    auto box_without = normalise(without_shared(box, shared.value()));
    CHECK(known_box.product_uuid == uuid);
    CHECK_FALSE(box_without.product_uuid);
    // The key rests on what is left.
    CHECK(derive_hardware_key(box_without).hex ==
          key_of(claims("", "SN-7701", {own_mac})).hex);
    hardware_expectation e;
    e.product_uuid = uuid;
    CHECK_FALSE(normalise_expectation(e).bad_field);
    CHECK(normalise_expectation(e, shared.value()).bad_field == "productUuid");
    CHECK(matches(e, known_box));
    CHECK_FALSE(matches(e, box_without));
  }
  // What prints a shared UUID is as shared.
  auto vm = claims(known, "GoogleCloud-3034353631385A43323131313032 5A47");
  vm.board_serial = "SN-7701";
  auto left = without_shared(vm, shared.value());
  CHECK(left.product_serial.empty());
  CHECK(left.board_serial == "SN-7701");
  // Other machines are as they were.
  auto other = claims("4c4c4544-0044-3510-8052-b4c04f4e3332", "D5R4N32");
  CHECK(without_shared(other, shared.value()) == other);
  const std::vector<std::string> wrong = {known, "30343536"};
  auto bad = shared_uuids::parse(wrong);
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == bc::errc::invalid_config);
  CHECK(bad.error().message.find("'30343536'") != std::string::npos);
}
