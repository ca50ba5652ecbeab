#include "pki/placeholders.hpp"

#include "base/bytes.hpp"
#include "base/encoding.hpp"

#include <algorithm>

namespace bc::pki {

namespace {

// Compared by their letters alone, so that "N/A", "n.a." and "NA" are one.
constexpr std::string_view words[] = {
    "ASSETTAG",
    "BADINDEX",
    "BASEBOARDSERIALNUMBER",
    "CHASSISSERIALNUMBER",
    "DEFAULT",
    "DEFAULTSTRING",
    "EMPTY",
    "ENTERSERIAL",
    "EVAL",
    "INVALID",
    "ISDPCS",
    "MAINBOARD",
    "MBSERIALNUMBER",
    "NOASSETINFORMATION",
    "NOASSETTAG",
    "NODIMM",
    "NONE",
    "NOSTRING",
    "NOTAPPLICABLE",
    "NOTAVAILABLE",
    "NOTPRESENT",
    "NOTSETTABLE",
    "NOTSPECIFIED",
    "NOTSUPPORTEDBYCPU",
    "NULL",
    "NULLSTRING",
    "OEMSERIAL",
    "PCANUMBERACC",
    "PCASERIAL",
    "RESERVED",
    "SERIAL",
    "SERIALNUMBER",
    "SYSTEMMANUFACTURER",
    "SYSTEMPRODUCTNAME",
    "SYSTEMSERIALNUMBER",
    "TBDBYODM",
    "TBDBYOEM",
    "TOBEFILLEDBYOEM",
    "TOBEFILLEDBYOEMBYMORESTRING",
    "TULIPCOMPUTERS",
    "UKNOWN",
    "UNDEFINED",
    "UNKNOW",
    "UNKNOWN",
    "UNSPECIFIED",
    "UNSPECIFIEDBASEBOARDSERIALNUMBER",
    "UNSPECIFIEDSYSTEMSERIALNUMBER",
};

// Values with digits are compared as they stand, but for their ends: a real
// serial may have the same digits with other dashes.
constexpr std::string_view values[] = {
    "0X00000000",
    "123-1234-123",
    "123456789000",
    "7783-7084-3265-9085-8269-3286-77",
    "ASSETTAGNUM0",
    "ASSETTAGNUM1",
    "CBX3",
    "MB-1234567890",
    "OEM DEFINE 4",
    "SERNUM01",
    "SN-12345",
    "SN-1234567890",
    "SN-123456FVGV3I0B8O5N6N7K",
    "SYS-1234567890",
    "TYPE2 - BOARD ASSET TAG",
};

constexpr std::string_view uuids[] = {
    "00000000000000000807060504030201", "000102030405060708090a0b0c0d0e0f",
    "00020003000400050006000700080009", "03000200040005000006000700080009",
    "07090201010303010807060504030201", "10000000000080000040000000000000",
    "11111111222233334444555555555555", "123456781234567890abcddeefaabbcc",
    "3139313835385a433135353130323750", "4c4c454400002010802080c04f202020",
    "5c4606fa192f453ab2997b088c63bb9b", "6ab5b300538d10149fb5b0684d007b53",
    "890e2d14cacd45d1ae66bc80e8bfeb0f", "8e275844178f44a8aceba7d7e5178c63",
    "dc698397fa544cf282c8b1b5307a6a7f", "deaddeaddeaddeaddeaddeaddeaddead",
    "deadbeefdeadbeefdeadbeefdeadbeef",
};

constexpr std::string_view macs[] = {
    "00:01:02:7d:9b:1c", "00:08:a1:46:06:35", "00:08:a1:66:e2:1a",
    "00:0b:ca:fe:00:00", "00:0f:ea:9a:e2:f0", "00:10:5a:72:71:f3",
    "00:11:11:85:08:8b", "00:50:56:c0:00:01", "00:50:56:c0:00:02",
    "00:50:56:c0:00:08", "00:a0:c6:00:00:00", "10:11:11:11:11:11",
    "20:41:53:59:4e:ff", "24:b6:20:52:41:53", "44:45:53:54:00:01",
    "44:45:53:54:61:6f",
};

template <std::size_t N>
bool listed(const std::string_view (&list)[N], std::string_view text) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return c >= 'A' && c <= 'Z';
}

template <class Keep>
std::string only(std::string_view text, Keep keep) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), keep);
  return out;
}

std::string_view without_ends(std::string_view text) {
  constexpr std::string_view ends = " .-_/\\";
  auto first = text.find_first_not_of(ends);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(ends) - first + 1);
}

bool one_repeated(std::string_view text) {
  return text.find_first_not_of(text.front()) == std::string_view::npos;
}

// 1234567890123… or 0123456789012…, from the start and of any length.
bool counts_up(std::string_view text) {
  if (text.front() > '1')
    return false;
  char expected = text.front();
  for (char c : text) {
    if (c != expected)
      return false;
    expected = expected == '9' ? '0' : static_cast<char>(expected + 1);
  }
  return true;
}

bool one_repeated_byte_or_digit(std::string_view hex) {
  if (one_repeated(hex))
    return true;
  for (std::size_t i = 2; i < hex.size(); ++i)
    if (hex[i] != hex[i - 2])
      return false;
  return true;
}

bool is_known(const uuid_bytes& uuid) {
  auto hex = to_hex(uuid);
  // ????????-ffff-ffff-ffff-ffffffffffff: a vendor's filler after four bytes.
  bool filler = hex.find_first_not_of('f', 8) == std::string::npos;
  return filler || one_repeated_byte_or_digit(hex) || listed(uuids, hex);
}

}  // namespace

uuid_bytes swap_uuid_fields(const uuid_bytes& uuid) {
  auto out = uuid;
  std::reverse(out.begin(), out.begin() + 4);
  std::reverse(out.begin() + 4, out.begin() + 6);
  std::reverse(out.begin() + 6, out.begin() + 8);
  return out;
}

bool is_placeholder_uuid(const uuid_bytes& uuid) {
  return is_known(uuid) || is_known(swap_uuid_fields(uuid));
}

bool is_placeholder_serial(std::string_view upper) {
  auto core = without_ends(upper);
  auto significant =
      only(core, [](char c) { return is_digit(c) || is_letter(c); });
  bool ascii = std::all_of(core.begin(), core.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
  // Too short to tell machines apart; letters beyond ASCII are not judged.
  if (ascii && significant.size() < 4)
    return true;
  if (!ascii)
    return core.empty();
  return one_repeated(significant) || counts_up(core) ||
         listed(words, significant) || listed(values, core);
}

bool is_placeholder_mac(std::string_view mac) {
  return listed(macs, mac);
}

}  // namespace bc::pki
