#pragma once

#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "pki/key.hpp"
#include "pki/tpm/structures.hpp"

#include <optional>

namespace bc::pki::tpm {

/// What TPM2_ActivateCredential takes; both are whole TPM2Bs.
struct credential {
  bytes blob;              // TPM2B_ID_OBJECT
  bytes encrypted_secret;  // TPM2B_ENCRYPTED_SECRET
};

/// TPM2_MakeCredential in software: seals `secret` so that only the TPM with
/// the EK opens it, and only while it holds the object of that Name beside it.
/// All hashes are the EK's nameAlg (part 1, section 24). INVALID_INPUT for an
/// EK that check_ek refuses, or a secret longer than its nameAlg's digest.
[[nodiscard]] result<credential> make_credential(const public_area& ek,
                                                 byte_view object_name,
                                                 byte_view secret);

/// The same with its randomness given, for vectors: the seed of an RSA EK (a
/// digest of its nameAlg), the scalar of the ephemeral key for a curve.
[[nodiscard]] result<credential> make_credential_with(const public_area& ek,
                                                      byte_view object_name,
                                                      byte_view secret,
                                                      byte_view random);

/// TPM2_ActivateCredential in software, for a P-256 EK whose private key is at
/// hand, as of a machine that is made up. nullopt where a TPM would refuse:
/// what was sealed to another EK, or for another object.
[[nodiscard]] std::optional<secret_bytes> open_credential(
    const public_area& ek, const private_key& key, byte_view object_name,
    const credential& sealed);

}  // namespace bc::pki::tpm
