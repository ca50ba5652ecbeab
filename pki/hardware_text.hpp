#pragma once

#include "pki/placeholders.hpp"

#include <optional>
#include <string>
#include <string_view>

/// The forms identifiers come in, and the one each is compared in.
namespace bc::pki {

/// 32 hex digits, bare or dashed 8-4-4-4-12, of either case; blanks around it
/// do not count.
[[nodiscard]] std::optional<uuid_bytes> parse_uuid(std::string_view text);
/// Lower case and dashed.
[[nodiscard]] std::string uuid_text(const uuid_bytes& uuid);
/// The MAC whose bytes stand between the numbers 02 to 09, a vendor's way to
/// make a UUID (CASES appendix A7); nullopt when this is none such.
[[nodiscard]] std::optional<mac_bytes> interleaved_mac(const uuid_bytes& uuid);

/// Trimmed, blanks inside collapsed to one, upper case. Unicode's blanks,
/// hyphens and full-width characters count as their plain forms, what cannot
/// be seen as nothing. Empty for bad UTF-8.
[[nodiscard]] std::string fold_serial(std::string_view text);

/// The bytes of an address in any usual spelling; nullopt for another length.
[[nodiscard]] std::optional<mac_bytes> mac_bytes_of(std::string_view text);
/// True for an address that one NIC can have of its own: not zero, broadcast,
/// multicast, locally administered, or a placeholder.
[[nodiscard]] bool is_own_mac(const mac_bytes& mac);
/// aa:bb:cc:dd:ee:ff of a NIC's own address; nullopt for any other.
[[nodiscard]] std::optional<std::string> parse_mac(std::string_view text);

/// "gpu-…" in lower case; nullopt for another form, slices ("MIG-…") among
/// them, and for one digit throughout.
[[nodiscard]] std::optional<std::string> parse_gpu(std::string_view text);
/// "GPU-…", as the driver and the API have it, of what parse_gpu() made;
/// another text as it is.
[[nodiscard]] std::string gpu_text(std::string_view id);

}  // namespace bc::pki
