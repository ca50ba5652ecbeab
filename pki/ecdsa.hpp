#pragma once

#include "base/bytes.hpp"
#include "pki/key.hpp"

#include <optional>

/// The two forms of an ECDSA P-256 signature; private to pki.
namespace bc::pki::ecdsa {

/// The prime of the field and the order of the group, big endian.
extern const std::array<std::uint8_t, 32> field_prime;
extern const std::array<std::uint8_t, 32> group_order;

/// True when 0 < value < group_order; value is 32 bytes.
[[nodiscard]] bool is_scalar(byte_view value) noexcept;

/// Both halves are scalars.
[[nodiscard]] bool in_range(const raw_signature& signature) noexcept;

/// Strict DER of an ECDSA-Sig-Value (RFC 3279 section 2.2.3), both halves in
/// range, nothing trailing; else nullopt.
[[nodiscard]] std::optional<raw_signature> from_der(byte_view der) noexcept;

[[nodiscard]] bytes to_der(const raw_signature& signature);

}  // namespace bc::pki::ecdsa
