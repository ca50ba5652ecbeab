#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::pki {

/// What a machine says about its hardware, as it came.
struct hardware_claims {
  std::string product_uuid;
  std::string product_serial;
  std::string board_serial;
  std::string chassis_serial;
  std::vector<std::string> macs;
  std::vector<std::string> gpu_uuids;
  std::string hostname;  // decides nothing
  bool operator==(const hardware_claims&) const = default;
};

/// What is left of the claims when placeholders are dropped (spec:
/// ATTESTATION section 5).
struct identifiers {
  std::optional<std::string> product_uuid;  // lower case, dashed
  std::vector<std::string> serials;    // upper case, product, board, chassis
  std::vector<std::string> macs;       // aa:bb:cc:dd:ee:ff, sorted, unique
  std::vector<std::string> gpu_uuids;  // lower case, sorted, unique
};
[[nodiscard]] identifiers normalise(const hardware_claims& claims);

struct hardware_key {
  std::string hex;  // 64 digits; empty when nothing survives
  /// At least two independent kinds of identifier survive.
  bool trusted = false;
  /// Neither a product UUID nor a serial survived.
  bool only_components = false;
};
/// One key for one machine: derive v1.
[[nodiscard]] hardware_key derive_hardware_key(const identifiers& ids);

/// One identifier each, as `joinTokens.create` takes them.
struct hardware_expectation {
  std::optional<std::string> product_uuid;
  std::optional<std::string> serial;
  std::optional<std::string> mac;
  std::optional<std::string> gpu_uuid;
  bool operator==(const hardware_expectation&) const = default;
  [[nodiscard]] bool empty() const {
    return !product_uuid && !serial && !mac && !gpu_uuid;
  }
};

/// The expectation in the form it is compared in, or the name of the first
/// field ("serial") that is a placeholder or can never match.
struct normalised_expectation {
  hardware_expectation value;
  std::optional<std::string> bad_field;
};
[[nodiscard]] normalised_expectation normalise_expectation(
    const hardware_expectation& expect);

/// True when every named identifier is among the machine's (spec:
/// joining#binding-a-token-to-one-machine). `expect` is normalised.
[[nodiscard]] bool matches(const hardware_expectation& expect,
                           const hardware_claims& claims);

}  // namespace bc::pki
