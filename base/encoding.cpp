#include "base/encoding.hpp"

#include <array>
#include <cstring>

namespace bc {

namespace {

constexpr std::string_view standard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_safe =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view crockford = "0123456789abcdefghjkmnpqrstvwxyz";

std::string encode64(byte_view data, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((data.size() + 2) / 3 * 4);
  std::uint32_t hold = 0;
  int bits = 0;
  for (auto byte : data) {
    hold = (hold << 8) | byte;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out += alphabet[(hold >> bits) & 63];
    }
  }
  if (bits > 0)
    out += alphabet[(hold << (6 - bits)) & 63];
  while (pad && out.size() % 4 != 0)
    out += '=';
  return out;
}

// The value of each character, -1 for one that has none.
using character_values = std::array<std::int8_t, 256>;

constexpr character_values values_of(std::string_view alphabet) {
  character_values values{};
  values.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<unsigned char>(alphabet[i])] =
        static_cast<std::int8_t>(i);
  return values;
}

constexpr character_values standard_values = values_of(standard);
constexpr character_values url_safe_values = values_of(url_safe);
constexpr character_values crockford_values = values_of(crockford);

fault not_base64() {
  return fail(errc::invalid_input, "not valid base64");
}

result<bytes> decode64(std::string_view text, const character_values& values) {
  if (text.size() % 4 == 1)
    return not_base64();
  bytes out(text.size() * 3 / 4);
  std::size_t at = 0;
  std::uint32_t hold = 0;
  int bits = 0;
  for (char c : text) {
    int v = values[static_cast<unsigned char>(c)];
    if (v < 0)
      return not_base64();
    hold = (hold << 6) | static_cast<std::uint32_t>(v);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out[at++] = static_cast<std::uint8_t>(hold >> bits);
    }
  }
  // Left-over bits must be zero: one text for each value, no second spelling.
  if ((hold & ((1U << bits) - 1)) != 0)
    return not_base64();
  return out;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(byte_view data) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(data.size() * 2);
  for (auto byte : data) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

result<bytes> from_hex(std::string_view text) {
  auto bad = fail(errc::invalid_input, "not valid hexadecimal");
  if (text.size() % 2 != 0)
    return bad;
  bytes out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    int high = hex_value(text[i]), low = hex_value(text[i + 1]);
    if (high < 0 || low < 0)
      return bad;
    out.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  return out;
}

std::string to_base64(byte_view data) {
  return encode64(data, standard, true);
}

result<bytes> from_base64(std::string_view text) {
  if (text.size() % 4 != 0)
    return fail(errc::invalid_input, "not valid base64");
  if (text.ends_with("=="))
    text.remove_suffix(2);
  else if (text.ends_with('='))
    text.remove_suffix(1);
  return decode64(text, standard_values);
}

std::string to_base64url(byte_view data) {
  return encode64(data, url_safe, false);
}

result<bytes> from_base64url(std::string_view text) {
  return decode64(text, url_safe_values);
}

std::string to_crockford(byte_view data) {
  std::size_t size = (data.size() * 8 + 4) / 5;
  std::string out(size, '0');
  // From the last character backwards, five bits at a time.
  std::uint32_t hold = 0;
  int bits = 0;
  std::size_t at = size;
  for (std::size_t i = data.size(); i-- > 0;) {
    hold |= static_cast<std::uint32_t>(data[i]) << bits;
    bits += 8;
    while (bits >= 5) {
      out[--at] = crockford[hold & 31];
      hold >>= 5;
      bits -= 5;
    }
  }
  if (at > 0)
    out[--at] = crockford[hold & 31];
  return out;
}

bool is_crockford(char c) noexcept {
  return crockford_values[static_cast<unsigned char>(c)] >= 0;
}

namespace {

// Where ASCII ends, from `i` on, or up to seven bytes before it.
std::size_t past_ascii(std::string_view text, std::size_t i) {
  std::uint64_t eight = 0;
  for (; i + sizeof eight <= text.size(); i += sizeof eight) {
    std::memcpy(&eight, text.data() + i, sizeof eight);
    if ((eight & 0x8080808080808080U) != 0)
      break;
  }
  return i;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    unsigned lead = at(i);
    if (lead < 0x80) {
      i = past_ascii(text, i + 1);
      continue;
    }
    std::size_t more = lead >= 0xc2 && lead < 0xe0   ? 1
                       : lead >= 0xe0 && lead < 0xf0 ? 2
                       : lead >= 0xf0 && lead < 0xf5 ? 3
                                                     : 4;
    if (more == 4 || i + more >= text.size())
      return false;
    for (std::size_t k = 1; k <= more; ++k)
      if ((at(i + k) & 0xc0) != 0x80)
        return false;
    unsigned next = at(i + 1);
    if ((lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f) ||
        (lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f))
      return false;
    i += more + 1;
  }
  return true;
}

}  // namespace bc
