#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace bc::pki {

using uuid_bytes = std::array<std::uint8_t, 16>;

/// The same UUID with its first three fields in the other byte order: firmware
/// and operating systems disagree about it.
[[nodiscard]] uuid_bytes swap_uuid_fields(const uuid_bytes& uuid);

/// True for a UUID that firmware gives to many machines, in either byte order.
[[nodiscard]] bool is_placeholder_uuid(const uuid_bytes& uuid);

/// True for a serial that names no machine. Upper-case text with single
/// blanks inside; only the whole value counts, never a part of it.
[[nodiscard]] bool is_placeholder_serial(std::string_view upper);

/// True for a MAC (aa:bb:cc:dd:ee:ff) known on many machines.
[[nodiscard]] bool is_placeholder_mac(std::string_view mac);

}  // namespace bc::pki
