#pragma once

#include "base/bytes.hpp"
#include "tests/support/temporary_folder.hpp"

#include <memory>
#include <string>
#include <vector>

namespace bc::testing {

/// A swtpm of its own in a temporary folder, with EK certificates (RSA-2048 and
/// P-384) of an authority of its own.
class software_tpm {
 public:
  /// Null where swtpm is not installed; a failed test where CI is set.
  [[nodiscard]] static std::unique_ptr<software_tpm> make();
  software_tpm(const software_tpm&) = delete;
  software_tpm& operator=(const software_tpm&) = delete;
  ~software_tpm();

  /// For daemon::tpm::open_tcti.
  [[nodiscard]] std::string tcti() const;
  /// DER of its authority and of the intermediate under it.
  [[nodiscard]] bytes root() const;
  [[nodiscard]] bytes intermediate() const;

 private:
  software_tpm() = default;
  temporary_folder folder_;
  int port_ = 0;
  int process_ = -1;
};

}  // namespace bc::testing
