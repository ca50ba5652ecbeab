#pragma once

#include "pki/tpm/code.hpp"
#include "pki/tpm/structures.hpp"

#include <optional>

namespace bc::pki::tpm {

/// Rows 3 and 4 of ATTESTATION section 2.4: RSA-2048 or P-256 with SHA-256 and
/// AES-128, P-384 or RSA-3072 with SHA-384 and AES-256; a storage key that
/// never leaves its TPM. Its policy and `unique` are free: templates differ.
/// nullopt or `ek_template`.
[[nodiscard]] std::optional<code> check_ek(const public_area& ek);

/// Rows 9 and 10: an explicit scheme, never SHA-1, a key made by its TPM that
/// signs nothing but what the TPM says. nullopt, `ak_algorithm` or
/// `ak_attributes`.
[[nodiscard]] std::optional<code> check_ak(const public_area& ak);

}  // namespace bc::pki::tpm
