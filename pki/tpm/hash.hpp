#pragma once

#include "base/bytes.hpp"
#include "base/secret_bytes.hpp"

#include <cstdint>
#include <initializer_list>

/// Hashes and key derivation by a TPM's algorithm numbers; private to pki/tpm.
namespace bc::pki::tpm {

/// Of SHA-1, SHA-256, SHA-384 and SHA-512; 0 for any other.
[[nodiscard]] std::size_t digest_size(std::uint16_t hash_alg) noexcept;

/// Over the parts one after another; empty for a hash we do not have.
[[nodiscard]] bytes hash(std::uint16_t hash_alg,
                         std::initializer_list<byte_view> parts);

/// HMAC over the parts; the hash must be one that digest_size knows.
[[nodiscard]] bytes hmac(std::uint16_t hash_alg, byte_view key,
                         std::initializer_list<byte_view> parts);

/// KDFa (part 1, section 11.4.10.2), at most one digest of whole bytes. The
/// label's NUL is added here.
[[nodiscard]] secret_bytes kdfa(std::uint16_t hash_alg, byte_view key,
                                std::string_view label, byte_view context_u,
                                byte_view context_v, unsigned bits);

/// KDFe (part 1, section 11.4.10.3) over the shared x coordinate, one digest.
[[nodiscard]] secret_bytes kdfe(std::uint16_t hash_alg, byte_view shared_x,
                                std::string_view label, byte_view party_u,
                                byte_view party_v);

}  // namespace bc::pki::tpm
