#pragma once

#include "daemon/challenge.hpp"
#include "daemon/config.hpp"
#include "daemon/join.hpp"
#include "daemon/machine_keys.hpp"

#include <string>

namespace bc::daemon {

struct tpm_join_tools {
  std::shared_ptr<tpm::attesting_keeper> tpm;
  /// The configured gateway when empty.
  post_to_path post = {};
  /// The EK kind of an identity that is set aside; empty: none.
  std::string recorded_ek = {};
  std::function<void(const std::string&)> say = {};
};

/// What a machine joins with by its TPM, without a token (attestor `tpm`; spec:
/// ATTESTATION section 2.1): each try asks for a challenge, checks the answer
/// and lets the TPM open it. The faults of its fill() are those that
/// join_evidence names: a TPM that is away is NOT_FOUND, one that says no
/// INVALID_STATE.
[[nodiscard]] join_evidence tpm_join_evidence(const config& c,
                                              tpm_join_tools tools);

}  // namespace bc::daemon
