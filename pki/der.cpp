#include "pki/der.hpp"

#include "base/encoding.hpp"

#include <algorithm>

namespace bc::pki::der {

namespace {

bool is_oid(byte_view content) noexcept {
  if (content.empty() || (content.back() & 0x80) != 0)
    return false;
  // A sub-identifier never starts with a zero digit of base 128.
  bool start = true;
  for (auto byte : content) {
    if (start && byte == 0x80)
      return false;
    start = (byte & 0x80) == 0;
  }
  return true;
}

bool is_integer(byte_view c) noexcept {
  if (c.empty())
    return false;
  if (c.size() == 1)
    return true;
  bool padded = (c[0] == 0x00 && c[1] < 0x80) || (c[0] == 0xff && c[1] >= 0x80);
  return !padded;
}

bool is_bits(byte_view c) noexcept {
  if (c.empty() || c[0] > 7 || (c.size() == 1 && c[0] != 0))
    return false;
  return c[0] == 0 || (c.back() & ((1 << c[0]) - 1)) == 0;
}

bool is_printable(byte_view c) noexcept {
  constexpr std::string_view marks = " '()+,-./:=?";
  return std::all_of(c.begin(), c.end(), [&](std::uint8_t b) {
    char ch = static_cast<char>(b);
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
           (ch >= '0' && ch <= '9') || marks.find(ch) != marks.npos;
  });
}

bool is_ascii(byte_view c) noexcept {
  return std::all_of(c.begin(), c.end(), [](auto b) { return b < 0x80; });
}

bool is_time_text(byte_view c, std::size_t size) noexcept {
  return c.size() == size && c.back() == 'Z' &&
         std::all_of(c.begin(), c.end() - 1,
                     [](auto b) { return b >= '0' && b <= '9'; });
}

// Code units of UCS-2: no surrogates.
bool is_bmp(byte_view c) noexcept {
  if (c.size() % 2 != 0)
    return false;
  for (std::size_t i = 0; i < c.size(); i += 2)
    if (c[i] >= 0xd8 && c[i] <= 0xdf)
      return false;
  return true;
}

bool is_character_string(const element& e) noexcept {
  switch (e.tag) {
    case utf8_string:
      return is_utf8(as_text(e.content));
    case 0x13:
      return is_printable(e.content);
    case 0x14:  // TeletexString, which nobody reads by its own rules
      return true;
    case 0x16:
    case 0x1a:
      return is_ascii(e.content);
    case 0x1e:
      return is_bmp(e.content);
    default:
      return false;
  }
}

// VisibleString is none of a DirectoryString's types.
bool is_name_string(const element& e) noexcept {
  return e.tag != 0x1a && is_character_string(e);
}

bool primitive_well_formed(const element& e) noexcept {
  switch (e.tag) {
    case boolean:
      return e.content.size() == 1 &&
             (e.content[0] == 0x00 || e.content[0] == 0xff);
    case integer:
    case 0x0a:
      return is_integer(e.content);
    case bit_string:
      return is_bits(e.content);
    case octet_string:
      return true;
    case 0x05:
      return e.content.empty();
    case oid:
      return is_oid(e.content);
    case utc_time:
      return is_time_text(e.content, 13);
    case generalized_time:
      return is_time_text(e.content, 15);
    default:
      return is_character_string(e);
  }
}

}  // namespace

std::optional<element> reader::next() noexcept {
  if (rest_.size() < 2 || (rest_[0] & 0x1f) == 0x1f)
    return std::nullopt;
  std::size_t header = 2, size = rest_[1];
  if (size >= 0x80) {
    std::size_t count = size & 0x7f;
    // 0 is the indefinite form; three bytes are more than we ever accept.
    if (count == 0 || count > 3 || rest_.size() < 2 + count || rest_[2] == 0)
      return std::nullopt;
    size = 0;
    for (std::size_t i = 0; i < count; ++i)
      size = (size << 8) | rest_[2 + i];
    if (size < 0x80)
      return std::nullopt;
    header += count;
  }
  if (rest_.size() - header < size)
    return std::nullopt;
  element e{rest_[0], rest_.subspan(header, size), rest_.first(header + size)};
  rest_ = rest_.subspan(header + size);
  return e;
}

std::optional<element> reader::take(std::uint8_t tag) noexcept {
  return at(tag) ? next() : std::nullopt;
}

bool well_formed(byte_view content, int levels) noexcept {
  if (levels == 0)
    return false;
  reader in{content};
  while (!in.at_end()) {
    auto e = in.next();
    if (!e)
      return false;
    bool universal = (e->tag & 0xc0) == 0;
    if ((e->tag & 0x20) != 0) {
      if (universal && e->tag != sequence && e->tag != set)
        return false;
      if (!well_formed(e->content, levels - 1))
        return false;
    } else if (universal && !primitive_well_formed(*e)) {
      return false;
    }
  }
  return true;
}

bool is_name(byte_view content) noexcept {
  reader names{content};
  while (!names.at_end()) {
    auto rdn = names.take(set);
    if (!rdn || rdn->content.empty() || !is_sorted(rdn->content))
      return false;
    reader attributes{rdn->content};
    while (!attributes.at_end()) {
      auto attribute = attributes.take(sequence);
      if (!attribute)
        return false;
      reader parts{attribute->content};
      auto type = parts.take(oid);
      auto value = parts.next();
      if (!type || !is_oid(type->content) || !value || !parts.at_end() ||
          !is_name_string(*value))
        return false;
    }
  }
  return true;
}

bool is_positive(byte_view content) noexcept {
  return is_integer(content) && content[0] < 0x80 &&
         (content.size() > 1 || content[0] != 0);
}

bool is_sorted(byte_view content) noexcept {
  reader in{content};
  byte_view before;
  while (!in.at_end()) {
    auto e = in.next();
    if (!e || std::lexicographical_compare(e->whole.begin(), e->whole.end(),
                                           before.begin(), before.end()))
      return false;
    before = e->whole;
  }
  return true;
}

std::optional<byte_view> octets_of_bits(byte_view content) noexcept {
  if (content.empty() || content[0] != 0)
    return std::nullopt;
  return content.subspan(1);
}

std::optional<time_point> read_time(const element& e) {
  std::string text;
  if (e.tag == utc_time && is_time_text(e.content, 13))
    text = (e.content[0] < '5' ? "20" : "19") + std::string{as_text(e.content)};
  else if (e.tag == generalized_time && is_time_text(e.content, 15))
    text = as_text(e.content);
  else
    return std::nullopt;
  auto t = from_rfc3339(text.substr(0, 4) + "-" + text.substr(4, 2) + "-" +
                        text.substr(6, 2) + "T" + text.substr(8, 2) + ":" +
                        text.substr(10, 2) + ":" + text.substr(12));
  // One form for each time: what UTCTime can say is said with it.
  if (!t || (e.tag == generalized_time && text >= "1950" && text < "2050"))
    return std::nullopt;
  return t.value();
}

bytes wrap(std::uint8_t tag, std::initializer_list<byte_view> parts) {
  std::size_t size = 0;
  for (auto part : parts)
    size += part.size();
  bytes out;
  out.reserve(size + 5);
  out.push_back(tag);
  if (size < 0x80) {
    out.push_back(static_cast<std::uint8_t>(size));
  } else {
    int count = size > 0xffff ? 3 : size > 0xff ? 2 : 1;
    out.push_back(static_cast<std::uint8_t>(0x80 | count));
    for (int i = count; i-- > 0;)
      out.push_back(static_cast<std::uint8_t>(size >> (8 * i)));
  }
  for (auto part : parts)
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

bytes write_unsigned(byte_view number) {
  while (number.size() > 1 && number[0] == 0)
    number = number.subspan(1);
  static constexpr std::uint8_t zero[] = {0};
  if (number.empty())
    return wrap(integer, {zero});
  // A leading zero keeps a set top bit from meaning minus.
  bool negative = number[0] >= 0x80;
  return wrap(integer, {negative ? byte_view{zero} : byte_view{}, number});
}

bytes write_bits(byte_view octets) {
  static constexpr std::uint8_t none_unused[] = {0};
  return wrap(bit_string, {none_unused, octets});
}

bytes write_time(time_point t) {
  auto text = to_rfc3339(t);
  std::string digits;
  for (std::size_t i = 0; i < 19; ++i)
    if (text[i] >= '0' && text[i] <= '9')
      digits += text[i];
  digits += 'Z';
  if (text < "2050")
    return wrap(utc_time, {as_bytes(std::string_view{digits}.substr(2))});
  return wrap(generalized_time, {as_bytes(digits)});
}

}  // namespace bc::pki::der
