#pragma once

#include "pki/placeholders.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace bc::pki {

/// 32 hex digits, bare or dashed 8-4-4-4-12, of either case; blanks around it
/// do not count.
[[nodiscard]] std::optional<uuid_bytes> parse_uuid(std::string_view text);
/// Lower case and dashed.
[[nodiscard]] std::string uuid_text(const uuid_bytes& uuid);

/// Trimmed, blanks inside collapsed to one, upper case; full-width letters and
/// the blanks of Unicode count as their plain forms. Empty for bad UTF-8.
[[nodiscard]] std::string fold_serial(std::string_view text);

/// aa:bb:cc:dd:ee:ff of a 6-byte address in any usual spelling; nullopt for
/// another length and for an address that is not one NIC's own: zero,
/// broadcast, multicast or locally administered.
[[nodiscard]] std::optional<std::string> parse_mac(std::string_view text);

/// "gpu-…" in lower case; nullopt for another form or all zeros.
[[nodiscard]] std::optional<std::string> parse_gpu(std::string_view text);

}  // namespace bc::pki
