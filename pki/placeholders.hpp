#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// What firmware reports instead of an identifier: judged by rule where a
/// family has one, by list where a value only happens to be on many machines
/// (spec: ATTESTATION section 5; CASES areas HW and MAC).
namespace bc::pki {

using uuid_bytes = std::array<std::uint8_t, 16>;
using mac_bytes = std::array<std::uint8_t, 6>;

/// The same UUID with its first three fields in the other byte order: firmware
/// and operating systems disagree about it.
[[nodiscard]] uuid_bytes swap_uuid_fields(const uuid_bytes& uuid);

/// True for a UUID that firmware gives to many machines, in either byte order:
/// nearly one value throughout, a short cycle, a counter, digits that fill the
/// groups one by one, a placeholder spelled in ASCII, a vendor's form without
/// what makes it unique, or one known to be shared.
[[nodiscard]] bool is_placeholder_uuid(const uuid_bytes& uuid);

/// True for a serial that names no machine: fewer than four letters and digits,
/// one of them repeated, a short cycle, a counter, words that describe the
/// field, or a known constant. Upper-case UTF-8 with single blanks inside, as
/// fold_serial makes it. Punctuation and blanks at the ends do not count; for
/// the rest only the whole value is judged, so that a serial which contains a
/// placeholder, or is one with a letter or digit more, stays (CASES 29, 41).
[[nodiscard]] bool is_placeholder_serial(std::string_view upper);

/// True for an address known on many machines, or one that nobody assigned:
/// nearly one value throughout, or a counter.
[[nodiscard]] bool is_placeholder_mac(const mac_bytes& mac);

}  // namespace bc::pki
