#pragma once

#include "actors/ledger.hpp"
#include "actors/ports.hpp"
#include "actors/refusal_report.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/wire.hpp"
#include "pki/bundle.hpp"

#include <functional>
#include <memory>

namespace bc::actors {

struct renew_environment {
  /// Null: every renewal is INVALID_CONFIG.
  std::shared_ptr<const pki::key_bundle> keys;
  tenant_id root_tenant;
  seconds certificate_lifetime = pki::max_node_lifetime;
  /// Of nodes that are bound to an endorsement key, when that is less
  /// (tpm_attestor::max_lifetime).
  seconds tpm_lifetime = pki::max_node_lifetime;
  std::function<void(refusal_report)> refused;
};

/// The whole renewal, from the body as received to the answer (spec:
/// joining#renewal). No CAF, as run_join. `done` runs once. An answer
/// ACCESS_DENIED must be held back by the caller (joining/release.hpp).
void run_renew(std::shared_ptr<const renew_environment> env,
               std::shared_ptr<ledger> streams, daemon_call call,
               std::function<void(wire::join_answer)> done);

}  // namespace bc::actors
