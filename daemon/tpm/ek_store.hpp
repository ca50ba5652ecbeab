#pragma once

#include "base/result.hpp"
#include "daemon/tpm/device.hpp"

#include <map>
#include <vector>

namespace bc::daemon::tpm {

/// Where another program may have left an EK; whose it is, its key tells.
inline constexpr handle persistent_ek = 0x81010001;

/// What the vendor left in a TPM's NV indices for its EKs.
struct ek_store {
  /// Certificates cut to their length, by index; what holds none is not here.
  std::map<handle, bytes> certificates;
  /// What is at the indices of templates and nonces, by index. Vendors do not
  /// agree which of the two is where (spec: ATTESTATION section 2.8).
  std::map<handle, bytes> hints;
  /// Whether there is a key at persistent_ek.
  bool has_persistent = false;
  /// Intermediates (0x01C00100 to 1FF), at most as many as evidence may have.
  std::vector<bytes> chain;
};

/// Reads the indices that exist, each by its own authorisation and in pieces
/// that the TPM takes. One that its own state keeps us from counts for nothing;
/// every other fault is the answer, since with less to go by another EK would
/// be chosen.
[[nodiscard]] result<ek_store> read_ek_store(device& d);

}  // namespace bc::daemon::tpm
