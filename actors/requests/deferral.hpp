#pragma once

#include "actors/api/read_models.hpp"
#include "actors/ledger.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "events/join_request.hpp"
#include "events/journal.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What a join flow needs of join requests: an attestor that defers a join has
/// it recorded, and an approved one consumes its request in the join's own
/// append (spec: joining#join-requests-and-approvals). No CAF.
namespace bc::actors {

/// A join that its attestor defers, once all it proved was verified.
struct deferral_order {
  site_id site;
  std::optional<pool_id> pool;  // none: unclaimed
  tenant_id tenant;             // the pool's, else the site's owner
  std::string attestor;         // "tpm", "discovery"
  std::string subject;          // events::join_request::tpm_subject …
  events::join_request::sighting seen;
  /// Anyone could make such a request, so it takes one of its site's places
  /// (ATTESTATION 9h: of tpm, without a verified EK certificate).
  bool takes_place = true;
  /// What it was deferred by, at the versions it was read: pool, site, tenant.
  std::vector<events::stream_write> pins;
  /// What else: claims that are free still, or their streams'.
  std::vector<events::claim_need> claims;
  std::string correlation;
  /// How far the read models are; null: the store applies what it appends.
  std::shared_ptr<read_models> models;
};

struct deferral_limits {
  seconds pending_for{86'400};  // the attestor's pendingTtlSeconds
  std::int64_t places = 1000;   // of each site
  seconds retry_after{30};      // told to the machine
};

/// The machine is to come again with the same CSR.
struct deferral {
  join_request_id request;
  seconds retry_after{30};
};
/// Approved for this CSR: the join goes on into `request->request->pool`, with
/// consumption() in its batch.
struct approved_request {
  shared_state<events::join_request::state> request;
};
/// The join is refused: its CSR was rejected, or all places of its site are
/// taken ("rejected" and "enrollment-full" of ATTESTATION).
enum class deferral_refusal { rejected, full };

/// rejected: a pin or a claim moved meanwhile; the join is to be judged once
/// more.
using deferral_outcome = std::variant<deferral, approved_request,
                                      deferral_refusal, events::rejected>;

/// Finds what is decided for the machine's CSR, else records the attempt:
/// `opened` in a stream of its own, `refreshed` when its pending request has
/// another CSR, nothing when it is unchanged. Of attempts at once, in whatever
/// process, one opens and the others find it. Spends nothing else. The read
/// models only say where a free place may be; its claim is what decides, and
/// none is called full but by models that show all of the journal. UNAVAILABLE
/// when the ground keeps moving or the read models stay behind.
void defer_join(std::shared_ptr<ledger> streams, deferral_order order,
                deferral_limits limits, reply_to<deferral_outcome> done);

/// The part of an admission's batch that consumes the approval: `consumed` at
/// the version it was read, in the name of the pool's tenant. The batch's
/// valid_until must be `until` at the latest. INVALID_STATE unless it is
/// approved for this CSR and not expired at `now`.
struct consumption {
  events::stream_write write;
  time_point until;
};
[[nodiscard]] result<consumption> consume_request(
    const events::join_request::state& request, const tenant_id& pool_tenant,
    const node_id& node, const std::string& csr_sha256, time_point now);

}  // namespace bc::actors
