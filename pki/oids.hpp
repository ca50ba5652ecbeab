#pragma once

#include <array>
#include <cstdint>

/// Whole DER elements that never change; private to pki.
namespace bc::pki::oids {

template <class... B>
constexpr std::array<std::uint8_t, sizeof...(B)> der_of(B... b) {
  return {static_cast<std::uint8_t>(b)...};
}

// 2.5.4.3, 2.5.4.11
inline constexpr auto common_name = der_of(6, 3, 0x55, 4, 3);
inline constexpr auto organizational_unit = der_of(6, 3, 0x55, 4, 11);
// 2.5.29.*
inline constexpr auto subject_key_id = der_of(6, 3, 0x55, 0x1d, 14);
inline constexpr auto key_usage = der_of(6, 3, 0x55, 0x1d, 15);
inline constexpr auto subject_alt_name = der_of(6, 3, 0x55, 0x1d, 17);
inline constexpr auto basic_constraints = der_of(6, 3, 0x55, 0x1d, 19);
inline constexpr auto authority_key_id = der_of(6, 3, 0x55, 0x1d, 35);
inline constexpr auto extended_key_usage = der_of(6, 3, 0x55, 0x1d, 37);
// 1.3.6.1.5.5.7.3.1 and .2
inline constexpr auto server_auth = der_of(6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1);
inline constexpr auto client_auth = der_of(6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 2);
/// AlgorithmIdentifier of id-ecPublicKey with the named curve prime256v1.
inline constexpr auto p256_algorithm =
    der_of(0x30, 0x13, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a,
           0x86, 0x48, 0xce, 0x3d, 3, 1, 7);
/// prime256v1 alone.
inline constexpr auto prime256v1 =
    der_of(6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7);
/// AlgorithmIdentifier of ecdsa-with-SHA256 (RFC 5758 section 3.2).
inline constexpr auto ecdsa_sha256 =
    der_of(0x30, 0x0a, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2);

}  // namespace bc::pki::oids
