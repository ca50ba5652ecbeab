#include "base/encoding.hpp"
#include "pki/characters.hpp"
#include "pki/hardware_text.hpp"
#include "pki/uuid_digits.hpp"

#include <algorithm>
#include <string>

namespace bc::pki {

namespace {

// Shared by many machines without a rule that would tell.
constexpr std::string_view shared[] = {
    "07090201010303010807060504030201", "123456781234567890abcddeefaabbcc",
    "3139313835385a433135353130323750", "5c4606fa192f453ab2997b088c63bb9b",
    "6ab5b300538d10149fb5b0684d007b53", "890e2d14cacd45d1ae66bc80e8bfeb0f",
    "8e275844178f44a8aceba7d7e5178c63", "dc698397fa544cf282c8b1b5307a6a7f",
};

mac_bytes last_six(const uuid_bytes& uuid) {
  mac_bytes out{};
  std::copy(uuid.end() - out.size(), uuid.end(), out.begin());
  return out;
}

// Zeros and then an address: a vendor's way to make a UUID, unique as long as
// the address is one that was assigned.
bool is_zeros_and_mac(const uuid_bytes& uuid) {
  constexpr std::size_t zeros = 10;
  constexpr std::size_t vendor = 3;
  auto zero = [](std::uint8_t b) { return b == 0; };
  auto mac = uuid.begin() + zeros;
  return std::all_of(uuid.begin(), mac, zero) &&
         !std::all_of(mac, mac + vendor, zero) && is_own_mac(last_six(uuid));
}

// One value but for at most three bytes.
bool is_nearly_constant(const uuid_bytes& uuid) {
  constexpr std::ptrdiff_t most_others = 3;
  for (auto value : uuid)
    if (std::ssize(uuid) - std::count(uuid.begin(), uuid.end(), value) <=
        most_others)
      return !is_zeros_and_mac(uuid);
  return false;
}

// A model's number, or nothing, and then filler where the serial belongs.
bool has_blank_tail(const uuid_bytes& uuid) {
  constexpr std::size_t tail = 6;
  return std::all_of(uuid.begin() + tail, uuid.end(),
                     [&](std::uint8_t b) { return b == uuid[tail]; });
}

// Numbers of so many bytes with equal steps between them.
bool counts_by(const uuid_bytes& uuid, std::size_t width) {
  std::uint64_t mask = (std::uint64_t{1} << (8 * width)) - 1;
  auto number = [&](std::size_t index) {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < width; ++i)
      n = n << 8 | uuid[index * width + i];
    return n;
  };
  auto step = (number(1) - number(0)) & mask;
  for (std::size_t i = 2; i < uuid.size() / width; ++i)
    if (((number(i) - number(i - 1)) & mask) != step)
      return false;
  return true;
}

// 01, 02, … 09, 10: each byte's two digits are a decimal number.
bool counts_in_decimal(const uuid_bytes& uuid) {
  for (std::size_t i = 1; i < uuid.size(); ++i) {
    auto decimal = [](int b) { return (b >> 4) * 10 + (b & 15); };
    if ((uuid[i] & 15) > 9 || uuid[i] > 0x99 ||
        decimal(uuid[i]) != decimal(uuid[i - 1]) + 1)
      return false;
  }
  return true;
}

// At least eight bytes that count by one, up or down, with zeros around them.
bool counts_among_zeros(const uuid_bytes& uuid) {
  constexpr std::ptrdiff_t least = 8;
  auto is_set = [](std::uint8_t b) { return b != 0; };
  auto first = std::find_if(uuid.begin(), uuid.end(), is_set);
  auto last = std::find_if(uuid.rbegin(), uuid.rend(), is_set).base();
  auto by = [&](int step) {
    return std::adjacent_find(first, last, [&](int a, int b) {
             return b - a != step;
           }) == last;
  };
  return last - first >= least && (by(1) || by(-1));
}

bool counts(const uuid_bytes& uuid) {
  return counts_by(uuid, 1) || counts_by(uuid, 2) || counts_by(uuid, 4) ||
         counts_in_decimal(uuid) || counts_among_zeros(uuid);
}

// Dell writes the seven characters of its service tag between constants. A
// machine without one has blanks there, or what else is no serial.
bool is_blank_dell(const uuid_bytes& u) {
  if (!(u[0] == 'L' && u[1] == 'L' && u[2] == 'E' && u[3] == 'D' && u[4] == 0 &&
        u[7] == 0x10 && u[8] == 0x80 && u[11] == 0xc0 && u[12] == 0x4f))
    return false;
  std::string tag;
  for (auto c : {u[5], u[6], u[9], static_cast<std::uint8_t>(u[10] & 0x7f),
                 u[13], u[14], u[15]})
    tag += static_cast<char>(c);
  using namespace std::string_view_literals;
  if (tag.find_first_not_of("\0 "sv) == std::string::npos)
    return true;
  return alphanumerics(tag).size() == tag.size() && is_placeholder_serial(tag);
}

// Gigabyte puts a MAC's bytes between 02 to 09; without one, filler.
bool is_blank_interleave(const uuid_bytes& uuid) {
  auto mac = interleaved_mac(uuid);
  return mac && is_placeholder_mac(*mac);
}

// Printable characters, and then padding, that read as a placeholder: over the
// whole, or where HP writes the serial.
bool spells_placeholder(const uuid_bytes& uuid) {
  constexpr std::size_t product = 6;
  std::string text{uuid.begin(), uuid.end()};
  while (!text.empty() && (text.back() == '\0' || text.back() == '\xff'))
    text.pop_back();
  auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  return text.size() >= product &&
         std::all_of(text.begin(), text.end(), printable) &&
         (is_placeholder_serial(fold_serial(text)) ||
          is_placeholder_serial(fold_serial(text.substr(product))));
}

bool is_filler(const uuid_bytes& uuid) {
  auto hex = to_hex(uuid);
  return is_nearly_constant(uuid) || has_blank_tail(uuid) || counts(uuid) ||
         digits_repeat(hex) || groups_are_filled(hex) ||
         doubled_digits_count(hex) || is_blank_dell(uuid) ||
         is_blank_interleave(uuid) || spells_placeholder(uuid) ||
         std::find(std::begin(shared), std::end(shared), hex) !=
             std::end(shared);
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
  return is_filler(uuid) || is_filler(swap_uuid_fields(uuid));
}

}  // namespace bc::pki
