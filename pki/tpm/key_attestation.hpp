#pragma once

#include "base/wire_tpm.hpp"
#include "pki/tpm/code.hpp"
#include "pki/tpm/structures.hpp"

#include <optional>
#include <string>
#include <vector>

namespace bc::pki::tpm {

using wire::key_attestation;

/// Every row of ATTESTATION section 2.5 in its order: the node's key is one
/// that the AK's TPM made and never lets out, and it is the key of this CSR.
/// The AK itself is taken as checked (check_ak, and that it is the right one).
/// nullopt, or the first row's code.
[[nodiscard]] std::optional<code> verify_key_attestation(
    const key_attestation& evidence, byte_view csr_der);

/// A renewal or rejoin of a leaf with these statements (section 2.7): nullopt
/// for a leaf that names no AK, whatever is attested, and for one whose AK it
/// names that attests the CSR's key. A leaf that names two is refused.
[[nodiscard]] std::optional<code> check_renewal(
    const std::vector<std::string>& statements,
    const std::optional<key_attestation>& evidence, byte_view csr_der);

}  // namespace bc::pki::tpm
