#pragma once

#include "actors/joining/answers.hpp"
#include "actors/joining/attesting.hpp"
#include "actors/joining/judged_by.hpp"
#include "base/clock.hpp"
#include "base/wire.hpp"
#include "events/admission.hpp"
#include "events/directory.hpp"
#include "events/journal.hpp"
#include "events/node.hpp"
#include "pki/bundle.hpp"
#include "pki/hardware_key.hpp"
#include "pki/key.hpp"

#include <functional>
#include <optional>
#include <string>

namespace bc::actors {

/// A machine that is to become a node, or to take its own back.
struct admitted_machine {
  const wire::join_request& request;
  const pki::public_key& key;
  const pki::hardware_key& hardware;
  const pki::sha256_digest& csr_sha256;
  const events::admitted_identity& identity;
  std::string answer_subject;
};
/// What admits it as the node that it becomes (attesting::spend).
using spend_for = std::function<result<spending>(const node_id&)>;

/// One join: the batch to append, and the answer to give once it is in the
/// journal.
struct admission_plan {
  events::batch batch;
  signed_text answer;
};

/// Issues the certificate, signs the answer and writes both into one batch:
/// what its attestor spends, the revocations of a reclaim, and `joined`, with
/// the node, pool, site and tenant pinned. INVALID_STATE for a known node that
/// is retired, and what `spend` answers.
[[nodiscard]] result<admission_plan> plan_admission(
    const pki::key_bundle& keys, seconds certificate_lifetime,
    const judged_by& judged, const admitted_machine& machine,
    const spend_for& spend, std::string correlation, time_point now);

/// Preconditions: the refusal still stands while the pool, site, tenant and
/// nodes are as they were read, and an EK that was nobody's is so. To tell of a
/// clone, the known node's `clone-suspected` goes with it, once in the clone
/// window.
[[nodiscard]] events::batch confirm_refusal(const judged_by& judged,
                                            bool tell_of_clone,
                                            std::string correlation,
                                            time_point now);

}  // namespace bc::actors
