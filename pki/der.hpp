#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

/// A strict reader and a plain writer of DER (X.690 section 10); private to
/// pki. OpenSSL's own decoders cost 100 us for each key they meet.
namespace bc::pki::der {

inline constexpr std::uint8_t boolean = 0x01;
inline constexpr std::uint8_t integer = 0x02;
inline constexpr std::uint8_t bit_string = 0x03;
inline constexpr std::uint8_t octet_string = 0x04;
inline constexpr std::uint8_t oid = 0x06;
inline constexpr std::uint8_t utf8_string = 0x0c;
inline constexpr std::uint8_t utc_time = 0x17;
inline constexpr std::uint8_t generalized_time = 0x18;
inline constexpr std::uint8_t sequence = 0x30;
inline constexpr std::uint8_t set = 0x31;
/// A constructed context tag, [n].
[[nodiscard]] constexpr std::uint8_t context(std::uint8_t n) noexcept {
  return static_cast<std::uint8_t>(0xa0 | n);
}

struct element {
  std::uint8_t tag = 0;
  byte_view content;
  byte_view whole;  // tag and length included
};

/// Reads elements one after another; one-byte tags, definite lengths in their
/// shortest form. nullopt where the input is anything else.
class reader {
 public:
  explicit reader(byte_view in) noexcept : rest_(in) {}
  [[nodiscard]] std::optional<element> next() noexcept;
  /// next(), and the tag must be this one.
  [[nodiscard]] std::optional<element> take(std::uint8_t tag) noexcept;
  [[nodiscard]] bool at(std::uint8_t tag) const noexcept {
    return !rest_.empty() && rest_[0] == tag;
  }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

 private:
  byte_view rest_;
};

/// True when the content is elements of DER down to the leaves, at most
/// `levels` deep, each universal type in its one encoding.
[[nodiscard]] bool well_formed(byte_view content, int levels = 16) noexcept;

/// True for a Name's content (RFC 5280 section 4.1.2.4).
[[nodiscard]] bool is_name(byte_view content) noexcept;

/// True for the content of a minimal INTEGER above zero.
[[nodiscard]] bool is_positive(byte_view content) noexcept;

/// True when the elements come in the order of a SET OF.
[[nodiscard]] bool is_sorted(byte_view content) noexcept;

/// The octets of a BIT STRING without unused bits.
[[nodiscard]] std::optional<byte_view> octets_of_bits(
    byte_view content) noexcept;

/// UTCTime or GeneralizedTime in the form of RFC 5280 section 4.1.2.5.
[[nodiscard]] std::optional<time_point> read_time(const element& e);

/// Tag, length and the parts one after another.
[[nodiscard]] bytes wrap(std::uint8_t tag,
                         std::initializer_list<byte_view> parts);
/// An unsigned big-endian number.
[[nodiscard]] bytes write_unsigned(byte_view number);
[[nodiscard]] bytes write_bits(byte_view octets);
/// UTCTime before 2050, GeneralizedTime from then on, whole seconds.
[[nodiscard]] bytes write_time(time_point t);

}  // namespace bc::pki::der
