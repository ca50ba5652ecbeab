#pragma once

#include "actors/joining/join_flow.hpp"
#include "actors/ledger.hpp"
#include "actors/requests/deferral.hpp"
#include "base/wire.hpp"
#include "events/grant.hpp"
#include "events/refusal_reason.hpp"
#include "events/rule_verdict.hpp"
#include "pki/csr.hpp"
#include "pki/digest.hpp"
#include "pki/hardware_key.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bc::actors {

/// What a machine asks for, as its body says it.
struct join_facts {
  std::shared_ptr<const join_environment> env;
  std::shared_ptr<ledger> streams;
  wire::join_request request;
  std::string correlation;
  /// Its form and signature were checked before the attestor opens anything.
  std::optional<pki::csr> csr;
  pki::sha256_digest csr_sha256{};
  pki::certificate_role role = pki::certificate_role::node;
  pki::hardware_claims claims;  // what they are judged by
  pki::identifiers identifiers;
  pki::hardware_key hardware;
};

/// What an admission of the attestor writes and needs beside the node's own
/// events: a token's use, an approval.
struct spending {
  std::vector<events::stream_write> writes;
  std::vector<events::claim_need> claims;
  /// The end of what it rests on: token, approval, vouch, challenge.
  std::optional<time_point> until;
};

/// What an attestor decides for a machine that proved itself. refusal_reason:
/// one that needs no confirmation any more. rejected: what it rests on moved;
/// to be asked once more.
using attested =
    std::variant<std::shared_ptr<const events::grant>, events::refusal_reason,
                 deferral, events::rejected>;

/// One machine's evidence before its attestor, in the order of a join (spec:
/// DESIGN section 7): open, prove, then (after the stored answer was looked
/// for) decide. All of it is asked anew when the ground moved. A fault is
/// infrastructure.
class attesting {
 public:
  virtual ~attesting() = default;

  /// The attestor's name as an event has it.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// What the evidence says alone; nullopt: it may be proved.
  [[nodiscard]] virtual std::optional<events::refusal_reason> open(
      time_point now) = 0;
  /// The secret or the proof; nullopt: proved.
  virtual void prove(time_point now,
                     reply_to<std::optional<events::refusal_reason>> done) = 0;
  /// The rest of the attestor's own rules.
  virtual void decide(time_point now, reply_to<attested> done) = 0;
  /// What admits the machine as this node. For a machine that was granted.
  [[nodiscard]] virtual result<spending> spend(const node_id& node,
                                               time_point now) = 0;

  /// Of a machine that proved itself: what its answer is kept under.
  [[nodiscard]] virtual std::string answer_subject() const = 0;
  /// Whom a refusal belongs to; nullopt: the root tenant, nothing of a tenant's
  /// was proved.
  [[nodiscard]] virtual std::optional<tenant_id> owner() const = 0;
  /// The reason for a claim of the attestor's that the append found taken.
  [[nodiscard]] virtual std::optional<events::refusal_reason> claim_refusal(
      std::string_view) const {
    return std::nullopt;
  }

  // For the index of refusals, once there is an owner.
  [[nodiscard]] virtual std::optional<pool_id> pool() const {
    return std::nullopt;
  }
  [[nodiscard]] virtual std::string token() const { return {}; }
  /// What the attestor's own rule compared.
  [[nodiscard]] virtual std::optional<events::rule_verdict> compared(
      events::refusal_reason, time_point) const {
    return std::nullopt;
  }
};

/// Before the attestor that the request names (none: join-token), which reads
/// the facts from open() on; null: it is not served here.
[[nodiscard]] std::shared_ptr<attesting> make_attesting(
    std::shared_ptr<const join_facts> facts);

}  // namespace bc::actors
