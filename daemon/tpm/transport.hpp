#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"

#include <memory>
#include <string>

namespace bc::daemon::tpm {

inline constexpr const char* default_tcti = "device:/dev/tpmrm0";

/// One command to a TPM and its response.
class transport {
 public:
  virtual ~transport() = default;
  /// The response, which may hold a secret. UNAVAILABLE when the TPM cannot be
  /// reached any more.
  [[nodiscard]] virtual result<secret_bytes> exchange(byte_view command) = 0;
};

/// By tpm2-tss's TCTI loader, which is opened here and not before: a machine
/// without it runs bcd all the same. `tcti` as its library takes it
/// ("device:/dev/tpmrm0", "swtpm:host=127.0.0.1,port=2321"). UNAVAILABLE names
/// what is missing: the library, the device, or the right to open it.
[[nodiscard]] result<std::unique_ptr<transport>> open_tcti(
    const std::string& tcti);

}  // namespace bc::daemon::tpm
