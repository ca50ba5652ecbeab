#pragma once

#include "actors/joining/join_flow.hpp"
#include "base/token_bucket.hpp"

#include <functional>
#include <memory>

namespace bc::actors {

/// How many challenges a process makes; over it they are RATE_LIMITED. What
/// costs nothing else costs a signature.
[[nodiscard]] std::shared_ptr<token_bucket> challenge_bucket();

/// POST /v1/join-challenge, from the body as received to the answer (spec:
/// ATTESTATION section 1.1): reads no stream and keeps nothing, so any process
/// can check what comes of it. An attestor that is not served is refused as its
/// join would be (`join:attestor`), and so is an EK or AK that no challenge can
/// be made for (`tpm:malformed`, `tpm:ek-template`). `done` runs once; an
/// answer ACCESS_DENIED must be held back by the caller.
void run_challenge(std::shared_ptr<const join_environment> env,
                   std::shared_ptr<token_bucket> bucket,
                   std::shared_ptr<ledger> streams, daemon_call call,
                   std::function<void(wire::join_answer)> done);

}  // namespace bc::actors
