#pragma once

#include "actors/joining/join_flow.hpp"
#include "base/wire.hpp"

#include <functional>
#include <memory>
#include <string>

namespace bc::actors {

/// A join whose attestor is x509pop, from its decoded request to the answer
/// (spec: ATTESTATION section 3): the node's own machine goes on, by its
/// expired certificate. No CAF, as run_join, which it is a part of. The
/// environment has keys. `done` runs once.
void run_rejoin(std::shared_ptr<const join_environment> env,
                std::shared_ptr<ledger> streams, wire::join_request request,
                std::string correlation,
                std::function<void(wire::join_answer)> done);

}  // namespace bc::actors
