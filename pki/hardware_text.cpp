#include "pki/hardware_text.hpp"

#include "base/bytes.hpp"
#include "base/encoding.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace bc::pki {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

std::string lowered(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

struct scalar {
  char32_t value;
  std::size_t size;
};

// Of well-formed UTF-8.
scalar first_scalar(std::string_view text) {
  auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  auto lead = byte(0);
  if (lead < 0x80)
    return {lead, 1};
  std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t value = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i)
    value = (value << 6) | (byte(i) & 0x3f);
  return {value, size};
}

bool is_blank(char32_t c) {
  return c <= 0x20 || c == 0x7f || c == 0xa0 || (c >= 0x2000 && c <= 0x200b) ||
         c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff;
}

// The bare digits of an address written with one kind of separator, at equal
// steps; empty when it is written otherwise.
std::string mac_digits(std::string_view text) {
  constexpr std::string_view separators = ":-.";
  auto first = text.find_first_of(separators);
  if (first == std::string_view::npos)
    return std::string{text};
  char separator = text[first];
  if (first != 2 && first != 4)
    return {};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool at_separator = i % (first + 1) == first;
    if ((text[i] == separator) != at_separator)
      return {};
    if (!at_separator)
      out += text[i];
  }
  return text.back() == separator ? std::string{} : out;
}

}  // namespace

std::optional<uuid_bytes> parse_uuid(std::string_view text) {
  text = trimmed(text);
  std::string digits;
  if (text.size() == 36) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      bool dash = i == 8 || i == 13 || i == 18 || i == 23;
      if ((text[i] == '-') != dash)
        return std::nullopt;
      if (!dash)
        digits += text[i];
    }
  } else {
    digits = text;
  }
  auto raw = from_hex(digits);
  if (!raw || raw.value().size() != 16)
    return std::nullopt;
  uuid_bytes out{};
  std::copy(raw.value().begin(), raw.value().end(), out.begin());
  return out;
}

std::string uuid_text(const uuid_bytes& uuid) {
  auto hex = to_hex(uuid);
  for (std::size_t at : {20UL, 16UL, 12UL, 8UL})
    hex.insert(at, 1, '-');
  return hex;
}

std::string fold_serial(std::string_view text) {
  if (!is_utf8(text))
    return {};
  std::string out;
  bool blank_before = false;
  while (!text.empty()) {
    auto [c, size] = first_scalar(text);
    if (is_blank(c)) {
      blank_before = !out.empty();
    } else {
      if (blank_before)
        out += ' ';
      blank_before = false;
      if (c >= 0xff01 && c <= 0xff5e)
        out += upper(static_cast<char>(c - 0xff01 + '!'));
      else if (size == 1)
        out += upper(text.front());
      else
        out += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return out;
}

std::optional<std::string> parse_mac(std::string_view text) {
  auto raw = from_hex(mac_digits(trimmed(text)));
  if (!raw || raw.value().size() != 6)
    return std::nullopt;
  const auto& b = raw.value();
  bool zero = std::all_of(b.begin(), b.end(), [](auto v) { return v == 0; });
  // Bit 0: a group address, broadcast too. Bit 1: set by software.
  if (zero || (b[0] & 3) != 0)
    return std::nullopt;
  auto hex = to_hex(b);
  for (std::size_t at : {10UL, 8UL, 6UL, 4UL, 2UL})
    hex.insert(at, 1, ':');
  if (is_placeholder_mac(hex))
    return std::nullopt;
  return hex;
}

std::optional<std::string> parse_gpu(std::string_view text) {
  auto id = lowered(trimmed(text));
  constexpr std::string_view prefix = "gpu-";
  if (!id.starts_with(prefix))
    return std::nullopt;
  auto body = std::string_view{id}.substr(prefix.size());
  if (body.size() < 8 || body.size() > 64 ||
      body.find_first_not_of("0123456789abcdef-") != std::string_view::npos ||
      body.find_first_not_of("0-") == std::string_view::npos)
    return std::nullopt;
  return id;
}

}  // namespace bc::pki
