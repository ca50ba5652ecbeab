#pragma once

#include "pki/tpm/structures.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// The public areas that a TPM makes our keys from. They are protocol: another
/// template is another key, and so another machine.
namespace bc::pki::tpm {

/// A kind of EK by what stands in identity.json, in the order in which they
/// are tried (spec: ATTESTATION section 2.2): never reordered.
struct ek_kind {
  std::string_view name;
  /// Where its certificate is, and where a template and a nonce for it may be;
  /// 0 for none.
  std::uint32_t certificate_index;
  std::uint32_t template_index;
  std::uint32_t nonce_index;
};
inline constexpr std::array ek_kinds{
    ek_kind{"rsa-2048", 0x01c00002, 0x01c00004, 0x01c00003},
    ek_kind{"rsa-2048-high", 0x01c00012, 0, 0},
    ek_kind{"p256", 0x01c0000a, 0x01c0000c, 0x01c0000b},
    ek_kind{"p256-high", 0x01c00014, 0, 0},
    ek_kind{"p384", 0x01c00016, 0, 0},
    ek_kind{"rsa-3072", 0x01c0001c, 0, 0}};

/// By the TCG EK Credential Profile; nullopt for a name that is none.
[[nodiscard]] std::optional<public_area> ek_template(std::string_view kind);

/// ECC P-256, ECDSA with SHA-256, restricted; a primary of the owner
/// hierarchy, so that it is derived again and ends with a clear.
[[nodiscard]] public_area ak_template();
/// The storage root the node's key stands under, as TSS2 key files mean it.
[[nodiscard]] public_area srk_template();
/// ECC P-256, signing, not restricted, outside the lockout.
[[nodiscard]] public_area node_key_template();

}  // namespace bc::pki::tpm
