#pragma once

#include "base/bytes.hpp"
#include "base/wire_tpm.hpp"
#include "events/refusal_reason.hpp"
#include "pki/tpm/code.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::actors {

/// `<attestor>:<code>`, of the attestors that judge by what a TPM says: "tpm",
/// "x509pop", "renew".
[[nodiscard]] events::refusal_reason reason_of(std::string_view attestor,
                                               pki::tpm::code code);

/// What is wrong with the new key of a certificate with these statements, which
/// may name an AK (spec: ATTESTATION section 2.7); nullopt: nothing.
/// Cryptography: up to one signature is verified.
[[nodiscard]] std::optional<events::refusal_reason> key_fault_of(
    std::string_view attestor, const std::vector<std::string>& statements,
    const std::optional<wire::key_attestation>& evidence, byte_view csr_der);

}  // namespace bc::actors
