#include "pki/hardware_text.hpp"

#include "base/bytes.hpp"
#include "base/encoding.hpp"
#include "base/text.hpp"
#include "pki/characters.hpp"
#include "pki/filler_patterns.hpp"

#include <algorithm>

namespace bc::pki {

namespace {

std::string lowered(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

constexpr std::string_view gpu_prefix = "gpu-";

struct range {
  char32_t first, last;
};

template <std::size_t N>
bool is_in(const range (&ranges)[N], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](range r) { return c >= r.first && c <= r.last; });
}

// Spaces and control characters beyond ASCII, and letters that show as a blank.
constexpr range blanks[] = {
    {0x7f, 0xa0},     {0x115f, 0x1160}, {0x1680, 0x1680}, {0x2000, 0x200a},
    {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x2800, 0x2800},
    {0x3000, 0x3000}, {0x3164, 0x3164}, {0xffa0, 0xffa0},
};
// Of no width: joiners, directions, marks of byte order and variation.
constexpr range invisible[] = {
    {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},     {0x180b, 0x180f},
    {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f},   {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
};
constexpr range hyphens[] = {
    {0x2010, 0x2015}, {0x2043, 0x2043}, {0x2212, 0x2212},
    {0xfe58, 0xfe58}, {0xfe63, 0xfe63},
};
constexpr range full_width = {0xff01, 0xff5e};

bool is_blank(char32_t c) {
  constexpr char32_t delete_character = 0x7f;
  return c < delete_character ? c <= ' ' : is_in(blanks, c);
}

void append_folded(std::string& out, char32_t c, std::string_view as_given) {
  if (as_given.size() == 1)
    out += upper(as_given.front());
  else if (c >= full_width.first && c <= full_width.last)
    out += upper(static_cast<char>(c - full_width.first + '!'));
  else if (is_in(hyphens, c))
    out += '-';
  else
    out += as_given;
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

std::optional<mac_bytes> interleaved_mac(const uuid_bytes& uuid) {
  mac_bytes mac{};
  for (std::size_t i = 0; i < uuid.size() / 2; ++i) {
    if (uuid[2 * i + 1] != i + 2)
      return std::nullopt;
    if (i < mac.size())
      mac[i] = uuid[2 * i];
  }
  return mac;
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
    } else if (is_ascii(text.front()) || !is_in(invisible, c)) {
      if (blank_before)
        out += ' ';
      blank_before = false;
      append_folded(out, c, text.substr(0, size));
    }
    text.remove_prefix(size);
  }
  return out;
}

bool is_own_mac(const mac_bytes& mac) {
  // Bit 0: a group address, broadcast too. Bit 1: set by software.
  return (mac[0] & 3) == 0 && !is_placeholder_mac(mac);
}

std::optional<mac_bytes> mac_bytes_of(std::string_view text) {
  mac_bytes mac{};
  auto raw = from_hex(mac_digits(trimmed(text)));
  if (!raw || raw.value().size() != mac.size())
    return std::nullopt;
  std::copy(raw.value().begin(), raw.value().end(), mac.begin());
  return mac;
}

std::optional<std::string> parse_mac(std::string_view text) {
  auto mac = mac_bytes_of(text);
  if (!mac || !is_own_mac(*mac))
    return std::nullopt;
  auto hex = to_hex(*mac);
  for (std::size_t at : {10UL, 8UL, 6UL, 4UL, 2UL})
    hex.insert(at, 1, ':');
  return hex;
}

std::optional<std::string> parse_gpu(std::string_view text) {
  auto id = lowered(trimmed(text));
  if (!id.starts_with(gpu_prefix))
    return std::nullopt;
  auto body = std::string_view{id}.substr(gpu_prefix.size());
  if (body.size() < 8 || body.size() > 64 ||
      body.find_first_not_of("0123456789abcdef-") != std::string_view::npos)
    return std::nullopt;
  auto digits = alphanumerics(body);
  if (digits.empty() || is_one_repeated(digits))
    return std::nullopt;
  return id;
}

std::string gpu_text(std::string_view id) {
  if (!id.starts_with(gpu_prefix))
    return std::string{id};
  return "GPU-" + std::string{id.substr(gpu_prefix.size())};
}

}  // namespace bc::pki
