#pragma once

#include "pki/digest.hpp"
#include "pki/tpm/structures.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace bc::pki::tpm {

/// The Name of an object: its nameAlg in two bytes, then that hash of its
/// public area as received (part 1, section 16). Empty for a hash we do not
/// have: such a key has no Name here.
[[nodiscard]] bytes name_of(const public_area& area, byte_view as_received);

/// The QualifiedName of a primary object in a hierarchy.
[[nodiscard]] bytes qualified_name_of_primary(std::uint32_t hierarchy,
                                              byte_view name);

/// True when it is the qualified name of a primary in a hierarchy that
/// outlives a reset: owner or endorsement.
[[nodiscard]] bool is_lasting_primary(byte_view qualified_name, byte_view name);

/// DER SubjectPublicKeyInfo; rsaEncryption for RSA, whatever a certificate of
/// it says. Empty for a key that is not RSA, P-256 or P-384.
[[nodiscard]] bytes spki_of(const public_area& area);

/// The EK hash, the identity of a TPM: SHA-256 of its SPKI (spec: ATTESTATION
/// section 2.6).
[[nodiscard]] sha256_digest ek_hash(const public_area& ek);

/// "urn:bc:tpm-ak:sha256:<64 hex>" (sha384: 96): the AK's Name without its
/// algorithm. Empty for a Name of another hash.
[[nodiscard]] std::string ak_statement(byte_view ak_name);
/// True for a statement of that form's prefix.
[[nodiscard]] bool is_ak_statement(std::string_view statement) noexcept;

}  // namespace bc::pki::tpm
