#pragma once

#include "base/wire.hpp"
#include "base/wire_attest.hpp"
#include "daemon/node_key.hpp"
#include "daemon/tpm/key_keeper.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace bc::daemon {

/// How a machine proves its TPM (attestor `tpm`; spec: ATTESTATION section
/// 2.1). Faults are the keeper's: the TPM's part was not done.
class tpm_proof {
 public:
  /// `recorded`: the EK kind the machine joined by before; empty: none.
  tpm_proof(std::shared_ptr<tpm::attesting_keeper> keeper, std::string recorded,
            std::function<void(const std::string&)> warn)
      : keeper_(std::move(keeper)),
        recorded_(std::move(recorded)),
        warn_(std::move(warn)) {}

  /// Finds out EK and AK, the first time.
  [[nodiscard]] result<void> choose();
  /// What a challenge is asked with for this join, once they are chosen;
  /// INVALID_STATE when the AK is not `ak`, where one is given.
  [[nodiscard]] result<wire::challenge_request> challenge_for(
      const wire::join_request& body,
      const std::optional<std::string>& ak = std::nullopt);
  /// The answer to a challenge that was checked, with the AK's word on the key
  /// of this CSR.
  [[nodiscard]] result<wire::tpm_evidence> answer(
      const wire::challenge_body& challenge, const node_key& key,
      byte_view csr_der);

  /// For identity.json, once it is chosen.
  [[nodiscard]] const std::string& ek_kind() const { return ek_.kind; }

 private:
  std::shared_ptr<tpm::attesting_keeper> keeper_;
  std::string recorded_;
  std::function<void(const std::string&)> warn_;
  tpm::chosen_ek ek_;
  bytes ak_public_;
};

}  // namespace bc::daemon
