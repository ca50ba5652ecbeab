#pragma once

#include "actors/join_service.hpp"
#include "actors/ledger.hpp"
#include "actors/ports.hpp"
#include "events/boot_lease.hpp"

#include <functional>
#include <memory>

namespace bc::actors {

struct boot_lease_environment {
  /// How long an agent has the lease from its last word on.
  seconds ttl = events::boot_lease::default_ttl;
};

/// POST /v1/boot-lease, from the body as received to the answer
/// (base/wire_boot_lease.hpp; spec: ATTESTATION section 4). No CAF, as
/// run_join. `done` runs once; every refusal is the same ACCESS_DENIED, held as
/// a refused join's.
void run_boot_lease(std::shared_ptr<const boot_lease_environment> env,
                    std::shared_ptr<ledger> streams, daemon_call call,
                    std::function<void(daemon_outcome)> done);

}  // namespace bc::actors
