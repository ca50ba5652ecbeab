#pragma once

#include "pki/ossl.hpp"
#include "pki/tpm/structures.hpp"

// Keys of TPM publics as OpenSSL holds them; included by pki/tpm/*.cpp alone.

namespace bc::pki::tpm {

/// nullptr for a hash we do not have.
[[nodiscard]] const EVP_MD* evp_hash(std::uint16_t hash_alg) noexcept;

/// "prime256v1" or "secp384r1"; nullptr for any other curve.
[[nodiscard]] const char* curve_name(std::uint16_t curve) noexcept;
/// Bytes of a coordinate: 32 or 48; 0 for any other curve.
[[nodiscard]] std::size_t coordinate_size(std::uint16_t curve) noexcept;

/// Null for a modulus that is even or not of exactly the bits it claims, an
/// exponent other than 65537, a point off the curve or not reduced, and every
/// key that is not RSA, P-256 or P-384.
[[nodiscard]] ossl::pkey load_public(const public_area& p);

/// A P-256 or P-384 private key of that scalar.
[[nodiscard]] ossl::pkey load_private(std::uint16_t curve, byte_view scalar);

/// An uncompressed point (SEC 1 section 2.3.3); empty when a coordinate does
/// not fit the curve.
[[nodiscard]] bytes sec1_point(const ecc_parameters& p);

}  // namespace bc::pki::tpm
