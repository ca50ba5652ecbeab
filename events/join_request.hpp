#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"
#include "pki/hardware_key.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The stream of one join request: a join that waits for a person (spec:
/// joining#join-requests-and-approvals). A machine, named by `subject`, has at
/// most one that is pending on a site; its next attempt refreshes it. What a
/// machine asks of another site, which may be another tenant's, is a request of
/// its own: nobody there may take this one over, or decide it.
namespace bc::events::join_request {

/// How a request is named by its machine: "tpm:<ekHash>", "hw:<hardwareKey>",
/// "mac:<siteId>:<mac>" (spec: ATTESTATION 9h, section 4).
[[nodiscard]] std::string tpm_subject(std::string_view ek_hash);
[[nodiscard]] std::string hardware_subject(std::string_view hardware_key);
[[nodiscard]] std::string mac_subject(const site_id& site,
                                      std::string_view mac);

/// What the machine says of its hardware, normalised (ATTESTATION section 5):
/// placeholders are left out, so none may be left.
struct claims {
  std::optional<std::string> product_uuid;
  std::vector<std::string> serials;
  std::vector<std::string> macs;
  std::vector<std::string> gpu_uuids;
  std::string hostname;  // decides nothing
  bool operator==(const claims&) const = default;
};
[[nodiscard]] claims claims_of(const pki::identifiers& left,
                               std::string hostname);
/// The JSON object of API and events: {"productUuid":"…","serials":["…"],
/// "macs":["…"],"gpuUuids":["…"],"hostname":"…"}.
[[nodiscard]] std::string text_of(const claims& c);

/// Of the `tpm` attestor. `verified`: the EK certificate has a chain to a
/// configured root; without it a TPM in software could have asked.
enum class ek_certificate { verified, unverified, absent };
[[nodiscard]] std::string_view ek_text(ek_certificate c) noexcept;
[[nodiscard]] std::optional<ek_certificate> parse_ek(
    std::string_view text) noexcept;
struct tpm_identity {
  std::string ek_hash;  // hex
  ek_certificate certificate = ek_certificate::absent;
  std::string manufacturer;  // of the certificate, or empty
  std::string model;
  bool operator==(const tpm_identity&) const = default;
};

/// Of the `discovery` attestor: what the site agent vouched for.
struct vouched {
  std::string mac;
  std::string ip;
  node_id by;
  std::int64_t boot_lease_epoch = 0;
  std::optional<std::string> workflow;
  bool operator==(const vouched&) const = default;
};

/// One attempt of the machine, as its attestor saw it.
struct sighting {
  std::string csr_sha256;  // hex
  claims machine;
  std::string hardware_key;  // hex or empty
  bool trusted = false;      // the key names one machine
  std::optional<tpm_identity> tpm;
  std::optional<vouched> vouch;
  bool operator==(const sighting&) const = default;
};

/// `security.join-request.opened` (internal).
struct opened {
  join_request_id id;
  tenant_id tenant;  // whose the event is: the pool's, else the site's owner
  site_id site;
  std::optional<pool_id> pool;  // none: unclaimed
  std::string attestor;
  std::string subject;
  sighting seen;
  /// Which of its site's places it takes, while it is pending; none: it does
  /// not count (see place_claim).
  std::optional<std::int64_t> place;
  time_point at;
  time_point expires_at;
  bool operator==(const opened&) const = default;
};
/// `security.join-request.refreshed` (internal): another attempt of the same
/// machine, which is the one to be decided from now on.
struct refreshed {
  join_request_id id;
  site_id site;
  std::string subject;
  sighting seen;
  std::optional<std::int64_t> place;
  time_point at;
  time_point expires_at;
  bool operator==(const refreshed&) const = default;
};
/// `security.join-request.approved`: one join is admitted, by the retry with
/// this CSR, until it expires.
struct approved {
  join_request_id id;
  pool_id pool;
  site_id site;
  std::string attestor;
  std::string subject;
  std::string csr_sha256;  // hex
  std::optional<std::int64_t> place;
  std::string by;      // principal
  std::string reason;  // in an operator's words, or empty
  time_point at;
  time_point expires_at;
  bool operator==(const approved&) const = default;
};
/// `security.join-request.rejected`: no join with this CSR is admitted any
/// more. The pool that decided has claimed it.
struct rejected {
  join_request_id id;
  pool_id pool;
  site_id site;
  std::string attestor;
  std::string subject;
  std::string csr_sha256;  // hex
  std::optional<std::int64_t> place;
  std::string by;      // principal
  std::string reason;  // in an operator's words, or empty
  time_point at;
  bool operator==(const rejected&) const = default;
};
/// `security.join-request.consumed` (internal): the approved join, in its own
/// append.
struct consumed {
  join_request_id id;
  site_id site;
  node_id node;
  std::string subject;
  std::string csr_sha256;  // hex
  time_point at;
  bool operator==(const consumed&) const = default;
};
/// `security.join-request.superseded` (internal): its machine became a node by
/// another way, so nobody is to decide on it any more. It ends as by its
/// expiry.
struct superseded {
  join_request_id id;
  site_id site;
  std::string subject;
  std::string csr_sha256;             // hex
  bool was_approved = false;          // else it waited
  std::optional<std::int64_t> place;  // that it took
  std::optional<node_id> node;        // none: not for all to know who see it
  time_point at;
  bool operator==(const superseded&) const = default;
};
using event =
    std::variant<opened, refreshed, approved, rejected, consumed, superseded>;

enum class status { pending, approved, rejected, expired, consumed };
[[nodiscard]] std::string_view status_text(status s) noexcept;
[[nodiscard]] std::optional<status> parse_status(
    std::string_view text) noexcept;

/// Who decided, with which words.
struct decision {
  std::string by;
  std::string reason;
  time_point at;
  bool operator==(const decision&) const = default;
};

struct state {
  std::uint64_t version = 0;
  /// As it was opened, with what its newest attempt, or decision, changed:
  /// the sighting, the pool and both times. Its age is that of the CSR.
  std::optional<opened> request;
  /// `expired` once it was superseded, for good; what runs out by itself stays
  /// what it was.
  status stored = status::pending;
  std::optional<time_point> refreshed_at;
  bool claims_changed = false;  // it is not what it was opened as
  std::optional<decision> decided;
  std::optional<time_point> consumed_at;
  std::optional<time_point> superseded_at;
  std::optional<node_id> node;  // that joined, by it or by another way
};

/// A decided request stays so, whatever comes, but for what may follow: an
/// approval may be withdrawn, consumed, or superseded.
[[nodiscard]] state evolve(state s, const event& e);

/// `pending` and `approved` end at the very second of expires_at. The state
/// must hold a request.
[[nodiscard]] status status_at(const state& s, time_point now) noexcept;

/// Held by the pending request of a machine on a site, until that expires.
[[nodiscard]] std::string pending_claim(const site_id& site,
                                        std::string_view subject);
/// Held by the request that was decided for this machine's CSR: by an approval
/// until it expires or is consumed, by a rejection for good.
[[nodiscard]] std::string decided_claim(const site_id& site,
                                        std::string_view subject,
                                        std::string_view csr_sha256);
/// A site has so many places for pending requests that anyone can make; each
/// takes one until it is decided or expires. So no crowd of processes opens
/// more, and none has to be told when one ends.
[[nodiscard]] std::string place_claim(const site_id& site, std::int64_t place);

/// Moves of `opened` and `refreshed`: take the pending claim and the place, to
/// the request's expiry; of `approved` and `rejected`: release both, take the
/// decided claim; of `consumed`: release that; of `superseded`: release what it
/// held.
[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

/// What an attempt meets among the requests of its machine.
enum class standing {
  unknown,   // nothing that is pending, or decided for its CSR
  waiting,   // pending, with this CSR
  moved,     // pending, with another CSR
  approved,  // for this CSR, and not expired
  rejected   // for this CSR
};
/// `decided` is the request that holds the attempt's decided claim, `pending`
/// the one that holds its machine's pending claim; null: there is none. What is
/// decided for the CSR stands before what is pending.
[[nodiscard]] standing standing_of(const state* decided, const state* pending,
                                   const sighting& seen, time_point now);

/// An attempt is deferred: opens the request of an empty stream, and refreshes
/// a pending one. No events when its CSR is unchanged, whatever else the
/// attempt says. Another CSR restarts its age (CASES 132, 133).
/// INVALID_STATE for one that is not pending: the attempt needs another stream.
struct defer {
  opened what;  // its `at` is now; of a pending request only `seen` counts
  seconds pending_for{86'400};
};
[[nodiscard]] result<std::vector<event>> decide(const state& s, const defer& c);

/// The pool for which an operator decides.
struct decider {
  pool_id pool;
  site_id site;  // the pool's
  /// The site still serves the pool's tenant: its unclaimed requests are seen.
  bool sees_unclaimed = true;
};
/// Its own, and its site's that nobody claimed yet. The state must hold a
/// request.
[[nodiscard]] bool is_visible_to(const state& s, const decider& who);

/// Approves a pending request for the pool. No events when it is approved for
/// it already. NOT_FOUND when the pool cannot see it, INVALID_STATE for any
/// other decided state, CONFLICT when `csr_sha256` is not the request's (CASES
/// 133).
struct approve {
  decider who;
  std::string by;
  std::string reason;
  std::optional<std::string> csr_sha256;  // hex
  seconds valid_for{3600};
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const approve& c);

/// Rejects a pending request, or withdraws an approval that was not used. No
/// events when it is rejected already; NOT_FOUND when the pool cannot see it;
/// INVALID_STATE once expired or consumed.
struct reject {
  decider who;
  std::string by;
  std::string reason;
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const reject& c);

/// The approved machine joins. INVALID_STATE unless it is approved for this
/// CSR and not expired.
struct consume {
  node_id node;
  std::string csr_sha256;  // hex
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const consume& c);

/// Which attempt of its machine a request stands for.
struct attempt_id {
  std::string csr_sha256;  // hex
  std::optional<time_point> refreshed_at;
  bool operator==(const attempt_id&) const = default;
};
/// The state must hold a request.
[[nodiscard]] attempt_id attempt_of(const state& s);

/// The machine became a node after this attempt: ends what waits, or is
/// approved, for it. No events once the request is over, or when the machine
/// came again since: then it asks for something else. By the attempt and not by
/// times, which several processes' clocks gave.
struct supersede {
  std::optional<node_id> node;
  attempt_id before;
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const supersede& c);

}  // namespace bc::events::join_request
