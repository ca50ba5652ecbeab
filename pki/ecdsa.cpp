#include "pki/ecdsa.hpp"

#include "pki/der.hpp"

#include <algorithm>

namespace bc::pki::ecdsa {

const std::array<std::uint8_t, 32> field_prime = {
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

const std::array<std::uint8_t, 32> group_order = {
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17,
    0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};

bool is_scalar(byte_view value) noexcept {
  bool zero = std::all_of(value.begin(), value.end(),
                          [](auto byte) { return byte == 0; });
  return value.size() == group_order.size() && !zero &&
         std::lexicographical_compare(value.begin(), value.end(),
                                      group_order.begin(), group_order.end());
}

bool in_range(const raw_signature& signature) noexcept {
  byte_view both{signature};
  return is_scalar(both.first(32)) && is_scalar(both.last(32));
}

std::optional<raw_signature> from_der(byte_view der) noexcept {
  der::reader top{der};
  auto both = top.take(der::sequence);
  if (!both || !top.at_end())
    return std::nullopt;
  der::reader in{both->content};
  raw_signature out{};
  for (std::size_t half = 0; half < 2; ++half) {
    auto number = in.take(der::integer);
    if (!number || !der::is_positive(number->content))
      return std::nullopt;
    auto digits = number->content;
    if (digits[0] == 0)
      digits = digits.subspan(1);
    if (digits.size() > 32)
      return std::nullopt;
    std::copy(digits.begin(), digits.end(),
              out.begin() +
                  static_cast<std::ptrdiff_t>(half * 32 + 32 - digits.size()));
  }
  if (!in.at_end() || !in_range(out))
    return std::nullopt;
  return out;
}

bytes to_der(const raw_signature& signature) {
  byte_view both{signature};
  return der::wrap(der::sequence, {der::write_unsigned(both.first(32)),
                                   der::write_unsigned(both.last(32))});
}

}  // namespace bc::pki::ecdsa
