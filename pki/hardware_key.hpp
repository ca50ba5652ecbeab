#pragma once

#include "base/result.hpp"
#include "pki/placeholders.hpp"

#include <optional>
#include <span>
#include <string>
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

/// Product UUIDs that look real and that an operator found on several machines
/// (`hardware.placeholder_uuids` of the configuration): placeholders too.
class shared_uuids {
 public:
  shared_uuids() = default;
  /// Each in a form of product_uuid. INVALID_CONFIG naming the first that is
  /// no UUID.
  [[nodiscard]] static result<shared_uuids> parse(
      std::span<const std::string> texts);
  /// In either byte order.
  [[nodiscard]] bool holds(const uuid_bytes& uuid) const;

 private:
  std::vector<uuid_bytes> known_;
};
/// The claims as of a machine that does not say a shared UUID, nor print it in
/// a serial; other claims as they are.
[[nodiscard]] hardware_claims without_shared(hardware_claims claims,
                                             const shared_uuids& shared);

/// What is left of the claims when placeholders, and serials that only print
/// the UUID, are dropped (spec: ATTESTATION section 5). Claims made of what is
/// left leave the same.
struct identifiers {
  std::optional<std::string> product_uuid;  // lower case, dashed
  /// Upper case, single blanks: product, board, chassis, each value once.
  std::vector<std::string> serials;
  std::vector<std::string> macs;       // aa:bb:cc:dd:ee:ff, sorted, unique
  std::vector<std::string> gpu_uuids;  // lower case, sorted, unique
  /// Serials that print the UUID once more, as clouds have them: they count for
  /// nothing beside it, but a token may be bound to them.
  std::vector<std::string> printed_uuids;
  bool operator==(const identifiers&) const = default;
};
[[nodiscard]] identifiers normalise(const hardware_claims& claims);

struct hardware_key {
  std::string hex;  // 64 digits; empty when nothing survives
  /// At least two independent kinds of identifier survive.
  bool trusted = false;
  /// Neither a product UUID nor a serial survived.
  bool only_components = false;
  /// It names one machine: trusted, and by more than parts that may be moved to
  /// another. Only such a key is held by a node and taken back by a reclaim
  /// (spec: joining#placeholder-hardware-and-reclaims).
  [[nodiscard]] bool names_a_machine() const {
    return !hex.empty() && trusted && !only_components;
  }
};
/// One key for one machine, derive v1: of the UUID and the first serial; where
/// one is missing, of the other and the lowest MAC, else the lowest GPU. What
/// is not in the key may come and go (CASES 62).
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

/// The expectation in the form it is compared in, and the name of the first
/// field ("serial") that is a placeholder or can never match. A UUID or serial
/// that was no placeholder yet when a token was made comes to the same value
/// still.
struct normalised_expectation {
  hardware_expectation value;
  std::optional<std::string> bad_field;
};
[[nodiscard]] normalised_expectation normalise_expectation(
    const hardware_expectation& expect, const shared_uuids& shared = {});

/// True when every named identifier is among the machine's (spec:
/// joining#binding-a-token-to-one-machine). `expect` is normalised. A serial is
/// compared as reported, dots at its ends included (CASES 28).
[[nodiscard]] bool matches(const hardware_expectation& expect,
                           const identifiers& machine);
[[nodiscard]] inline bool matches(const hardware_expectation& expect,
                                  const hardware_claims& claims) {
  return matches(expect, normalise(claims));
}

}  // namespace bc::pki
