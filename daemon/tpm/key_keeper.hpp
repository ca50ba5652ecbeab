#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "daemon/tpm/machine_tpm.hpp"
#include "pki/key.hpp"

#include <optional>
#include <string>

namespace bc::daemon::tpm {

using key_blobs = device::key_blobs;

/// Who has the machine's TPM for bcd: this process, or `bcd helper`. Each call
/// blocks while the TPM works, and any thread may make it. UNAVAILABLE: the TPM
/// cannot be reached now; INVALID_STATE: it answers, and says no.
class key_keeper {
 public:
  virtual ~key_keeper() = default;
  /// Whether there is a TPM to try at all, by a look that sends it nothing.
  [[nodiscard]] virtual bool is_there() = 0;
  /// TPMT_PUBLIC of the AK.
  [[nodiscard]] virtual result<bytes> ak_public() = 0;
  [[nodiscard]] virtual result<key_blobs> create_node_key() = 0;
  [[nodiscard]] virtual result<pki::raw_signature> sign(
      const key_blobs& key, const pki::sha256_digest& digest) = 0;
  /// The AK's word on the node's key, bound to the CSR.
  [[nodiscard]] virtual result<device::certified> certify(
      const key_blobs& key, byte_view csr_der) = 0;
};

/// One that also proves which TPM it is; the helper does not.
class attesting_keeper : public key_keeper {
 public:
  [[nodiscard]] virtual result<chosen_ek> choose_ek(
      const std::optional<std::string>& recorded) = 0;
  [[nodiscard]] virtual result<secret_bytes> activate(
      const chosen_ek& ek, byte_view credential_blob,
      byte_view encrypted_secret) = 0;
};

/// The P-256 key of the blobs; INVALID_INPUT for any other.
[[nodiscard]] result<pki::public_key> public_key_of(const key_blobs& key);

/// "urn:bc:tpm-ak:…" of an AK's TPMT_PUBLIC; empty for what is none.
[[nodiscard]] std::string statement_of(byte_view ak_public);

}  // namespace bc::daemon::tpm
