#pragma once

#include "base/bytes.hpp"

#include <cstdint>

/// Big-endian reading and writing of TPM structures; private to pki/tpm.
namespace bc::pki::tpm {

/// Reads fields one after another. After the first that does not fit, every
/// read answers zero or nothing and done() is false.
class cursor {
 public:
  explicit cursor(byte_view in) noexcept : rest_(in) {}

  [[nodiscard]] byte_view take(std::size_t size) noexcept {
    if (size > rest_.size()) {
      fail();
      return {};
    }
    auto out = rest_.first(size);
    rest_ = rest_.subspan(size);
    return out;
  }
  [[nodiscard]] std::uint64_t number(std::size_t size) noexcept {
    std::uint64_t out = 0;
    for (auto byte : take(size))
      out = (out << 8) | byte;
    return out;
  }
  [[nodiscard]] std::uint16_t u16() noexcept {
    return static_cast<std::uint16_t>(number(2));
  }
  [[nodiscard]] std::uint32_t u32() noexcept {
    return static_cast<std::uint32_t>(number(4));
  }
  /// A TPM2B: its size in two bytes, then that many.
  [[nodiscard]] bytes sized() { return to_bytes(take(u16())); }
  [[nodiscard]] bytes rest() { return to_bytes(take(rest_.size())); }

  void fail() noexcept {
    good_ = false;
    rest_ = {};
  }
  /// Nothing failed, and nothing is left.
  [[nodiscard]] bool done() const noexcept { return good_ && rest_.empty(); }

 private:
  byte_view rest_;
  bool good_ = true;
};

inline void put(bytes& out, byte_view data) {
  out.insert(out.end(), data.begin(), data.end());
}

inline void put_number(bytes& out, std::uint64_t value, std::size_t size) {
  for (std::size_t i = size; i-- > 0;)
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

/// As cursor::sized reads it.
inline void put_sized(bytes& out, byte_view data) {
  put_number(out, data.size(), 2);
  put(out, data);
}

/// The number without its leading zeros.
[[nodiscard]] inline byte_view significant(byte_view number) noexcept {
  while (!number.empty() && number[0] == 0)
    number = number.subspan(1);
  return number;
}

/// The number in exactly `size` bytes; empty when it needs more.
[[nodiscard]] inline bytes padded(byte_view number, std::size_t size) {
  number = significant(number);
  if (number.size() > size)
    return {};
  bytes out(size - number.size());
  put(out, number);
  return out;
}

}  // namespace bc::pki::tpm
