#pragma once

#include "actors/api/read_models.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "pki/certificate.hpp"
#include "pki/tpm/judge.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace bc::actors {

/// Machines whose TPM nobody knows wait for a person.
struct tpm_enrollment {
  seconds pending_for{86'400};         // of a request
  std::int64_t pending_places = 1000;  // of each site
};

/// The configuration of the `tpm` attestor (spec: ATTESTATION section 2.6). A
/// genuine TPM is not an authorised one: who is not named here, bound to a node
/// or approved is refused.
struct tpm_attestor {
  pki::tpm::judge_config judge;
  /// Which EKs may join, by their hash (64 lower-case hex digits), and where.
  std::map<std::string, pool_id> allowed;
  /// Sites at which any EK with a verified certificate joins, and where.
  std::map<site_id, pool_id> admit_verified;
  /// Nothing: an unknown EK is refused.
  std::optional<tpm_enrollment> enrollment;
  /// Of every certificate of a node that is bound to an EK, renewals too.
  seconds max_lifetime = pki::max_node_lifetime;
  /// How far the read models are; null: the store applies what it appends.
  std::shared_ptr<read_models> models;
};

}  // namespace bc::actors
