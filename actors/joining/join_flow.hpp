#pragma once

#include "actors/discovery/discovery_attestor.hpp"
#include "actors/ledger.hpp"
#include "actors/ports.hpp"
#include "actors/refusal_report.hpp"
#include "actors/tpm/tpm_attestor.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/wire.hpp"
#include "pki/bundle.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace bc::actors {

struct join_environment {
  /// Null: every join is INVALID_CONFIG.
  std::shared_ptr<const pki::key_bundle> keys;
  tenant_id root_tenant;
  seconds certificate_lifetime = pki::max_node_lifetime;
  pki::shared_uuids shared_uuids;
  /// Whether a node may join again by its expired certificate.
  bool x509pop = false;
  /// Nothing, of these: the attestor is not served.
  std::optional<tpm_attestor> tpm = {};
  std::optional<discovery_attestor> discovery = {};
  std::function<void(refusal_report)> refused;
};

/// The whole join, from the body as received to the answer (spec: DESIGN
/// section 7, joining#the-join-flow). No CAF: effects go through the ledger
/// and the environment, so the flow runs the same in a test. `done` runs once.
/// An answer ACCESS_DENIED must be held back by the caller (release.hpp).
void run_join(std::shared_ptr<const join_environment> env,
              std::shared_ptr<ledger> streams, daemon_call call,
              std::function<void(wire::join_answer)> done);

}  // namespace bc::actors
