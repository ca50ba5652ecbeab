#pragma once

#include "pki/hardware_key.hpp"

#include <string>
#include <vector>

/// Which identifier of a machine is another one now, without what it is (spec:
/// ATTESTATION section 5): for diagnosis alone, only the key decides.
namespace bc::pki {

/// An identifier as it may be kept beside others: whoever has it can tell that
/// it is the same.
struct identifier_hash {
  std::string kind;    // "productUuid", "serial", "mac", "gpuUuid"
  std::string sha256;  // of the normalised text, hex
  bool operator==(const identifier_hash&) const = default;
};
/// All of them, kind by kind, in the order of `ids`.
[[nodiscard]] std::vector<identifier_hash> hashes_of(const identifiers& ids);

/// The kinds of which one has what the other has not, in the same order.
[[nodiscard]] std::vector<std::string> changed_kinds(
    const std::vector<identifier_hash>& before,
    const std::vector<identifier_hash>& now);

}  // namespace bc::pki
