#pragma once

#include "base/wire_tpm.hpp"
#include "daemon/config.hpp"
#include "daemon/node_key.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bc::daemon {

/// Where a machine's next keys come from (spec: joining#join-flow step 1).
class machine_keys {
 public:
  using say = std::function<void(const std::string&)>;

  /// Keys of files alone.
  machine_keys() = default;
  /// `unfit`: why the TPM is not to be taken unless it is required; empty: it
  /// may be.
  machine_keys(std::shared_ptr<tpm::key_keeper> keeper, bool required,
               say warn = {}, std::string unfit = {})
      : keeper_(std::move(keeper)),
        required_(required),
        warn_(std::move(warn)),
        unfit_(std::move(unfit)) {}

  /// In the TPM where there is one; where that fails, after a warning, one of a
  /// file's, or, when the TPM is required, its fault.
  [[nodiscard]] result<node_key> make() const;
  /// In the TPM, or its fault.
  [[nodiscard]] result<node_key> make_in_tpm() const;

  [[nodiscard]] const std::shared_ptr<tpm::key_keeper>& keeper() const {
    return keeper_;
  }

 private:
  std::shared_ptr<tpm::key_keeper> keeper_;
  bool required_ = false;
  say warn_;
  std::string unfit_;
};

/// A machine's keys, and the TPM that proves itself: null where the helper has
/// it, or nobody.
struct key_places {
  machine_keys keys = {};
  std::shared_ptr<tpm::attesting_keeper> tpm = nullptr;
};
/// As `[tpm]` says, in this process: of a join, which is root's.
[[nodiscard]] key_places key_places_of(const config& c, machine_keys::say warn);
/// Of `bcd node`: with `[helper]`, what the helper holds.
[[nodiscard]] key_places node_key_places_of(const config& c,
                                            machine_keys::say warn);

/// The AK that a certificate names, "urn:bc:tpm-ak:…"; nullopt: none. Of a
/// certificate that names two, both, so that no TPM's fits.
[[nodiscard]] std::optional<std::string> named_ak(byte_view leaf_der);

/// What the renewal of such a certificate says before anything is sent (spec:
/// joining#troubleshooting).
inline constexpr std::string_view wrong_tpm_text =
    "the TPM is unavailable or names another AK";

[[nodiscard]] fault wrong_tpm(const fault& why);

/// The AK's word on the key of this CSR, once the AK is found to be the one
/// named. UNAVAILABLE or INVALID_STATE, with wrong_tpm_text and why, also for a
/// key that is not in the TPM.
[[nodiscard]] result<wire::key_attestation> attest_key(const machine_keys& keys,
                                                       const std::string& ak,
                                                       const node_key& key,
                                                       byte_view csr_der);

}  // namespace bc::daemon
