#pragma once

#include "actors/joining/answers.hpp"
#include "actors/ledger.hpp"
#include "base/clock.hpp"

#include <memory>
#include <string>
#include <variant>

/// The answer of an earlier attempt with the same credential and CSR, given
/// again (spec: DESIGN section 3, "a lost answer never strands a machine").
namespace bc::actors {

/// The attempt that comes again.
struct asked_again {
  std::string subject;     // token id, node id …
  std::string csr_sha256;  // hex
  std::string correlation;
  time_point now;
};

/// An answer falls with its certificate: a newer one, a newer generation, a
/// revocation or a retired node make it void.
struct void_answer {};

/// rejected: its node moved while this was asked; to be asked once more.
using found_answer = std::variant<signed_text, void_answer, events::rejected>;

/// What the holder of the claim answer:<subject>:<csrSha256> was answered,
/// confirmed with the node as it is read.
void find_stored_answer(std::shared_ptr<ledger> streams,
                        const events::claim_holder& holder, asked_again what,
                        reply_to<found_answer> done);

}  // namespace bc::actors
