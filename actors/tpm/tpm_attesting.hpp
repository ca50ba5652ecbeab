#pragma once

#include "actors/joining/attesting.hpp"

#include <memory>

/// The `tpm` attestor (spec: ATTESTATION section 2): a machine that proved its
/// endorsement key, and that its node's key is in the same TPM, joins without a
/// token where that key may.
namespace bc::actors {

/// For a process that serves it (join_environment::tpm).
[[nodiscard]] std::shared_ptr<attesting> make_tpm_attesting(
    std::shared_ptr<const join_facts> facts);

}  // namespace bc::actors
