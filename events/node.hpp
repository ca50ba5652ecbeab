#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/wire.hpp"
#include "events/journal.hpp"
#include "events/node_session_events.hpp"
#include "pki/certificate.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The stream of one node: a machine's, or a site agent's (spec:
/// joining#node-certificates, joining#placeholder-hardware-and-reclaims,
/// DESIGN 8).
namespace bc::events::node {

/// Who has root on the machine, from the most to the least trusted; it is only
/// ever lowered.
enum class trust { platform, tenant_owned, tenant_controlled };
/// "platform", "tenant-owned", "tenant-controlled".
[[nodiscard]] std::string_view trust_text(trust t) noexcept;
[[nodiscard]] std::optional<trust> parse_trust(std::string_view text) noexcept;

struct certificate {
  std::string serial;       // hex
  std::string spki_sha256;  // hex
  pki::certificate_role role = pki::certificate_role::node;
  std::int64_t generation = 1;
  time_point not_before;
  time_point not_after;
  std::vector<std::string> statements;
  bytes der;               // internal
  std::string csr_sha256;  // hex; internal
  /// Kinds of commands it lets in (command_kind.hpp); empty: every kind.
  std::vector<std::string> allowed_kinds = {};  // internal
  bool operator==(const certificate&) const = default;
};

/// `node.joined`: a node with the first certificate of a generation. `internal`
/// also holds the raw claims and the signed answer, for 10 minutes' worth of
/// retries.
struct joined {
  node_id id;
  tenant_id tenant;
  site_id site;
  std::optional<pool_id> pool;  // a site agent has none
  std::string attestor;
  bool reclaim = false;
  std::string hardware_key;  // hex or empty
  bool hardware_key_trusted = false;
  /// A reclaim by a machine that names permanent MACs and shares none with
  /// those it named before (ATTESTATION 9b), or by the same EK on hardware of
  /// another key (2.6).
  bool hardware_changed = false;
  /// Of a reclaim: which kinds of identifier are others than it named before
  /// (pki::changed_kinds).
  std::vector<std::string> changed_identifiers = {};
  std::string node_key = "unattested";  // or "tpm"
  std::string token;                    // token id, or empty
  /// An event of before trust was kept promises nothing of the platform's.
  trust node_trust = trust::tenant_owned;
  /// Its pool runs acceptance checks: it is not adopted at once.
  bool acceptance = false;
  certificate cert;
  time_point at;
  wire::claims claims;         // internal
  std::string answer_subject;  // internal: "<token id>" …
  std::string answer_body;     // internal
  bytes answer_signature;      // internal
  /// Internal: hex, of the challenge that it answered, which counts once; empty
  /// where the attestor gives none.
  std::string proof_sha256 = {};
  /// Of the endorsement key that the node is bound to: hex, or empty.
  std::string ek_hash = {};
  /// Internal: the trusted hardware key that it gave up by this join, on other
  /// hardware with the same EK; empty: none.
  std::string left_hardware_key = {};
};
/// True for the same machine that goes on as the same node, by its expired
/// certificate (x509pop): the node stays what it is (ATTESTATION 9c).
[[nodiscard]] bool goes_on(const joined& j) noexcept;
/// `node.certificate-renewed`: another certificate of the node's generation, by
/// the key of one before, which goes on until it is over. `internal` also holds
/// the proof's hash and the signed answer.
struct renewed {
  node_id id;
  tenant_id tenant;
  certificate cert;
  std::string previous_serial;  // hex; of the one that was presented
  time_point at;
  std::string proof_sha256;  // internal: hex, of the signature's bytes
  std::string answer_body;   // internal
  bytes answer_signature;    // internal
  bool operator==(const renewed&) const = default;
};
/// `node.adopted`.
struct adopted {
  node_id id;
  time_point at;
  bool operator==(const adopted&) const = default;
};
/// `node.cordoned`.
struct cordoned {
  node_id id;
  std::string reason;  // an operator's words, or empty
  time_point at;
  bool operator==(const cordoned&) const = default;
};
/// `node.retired`: it is over; its hardware may join as a new node.
struct retired {
  node_id id;
  std::string reason;  // an operator's words, or empty
  time_point at;
  std::string hardware_key;  // internal: the one given up, or empty
  std::string ek_hash = {};  // internal: the same
  bool operator==(const retired&) const = default;
};
/// By another join of the machine, by an operator, with its node, or by so many
/// renewals that another took its place.
enum class revocation { reclaimed, revoked, deleted, superseded };
[[nodiscard]] std::string_view revocation_text(revocation r) noexcept;
[[nodiscard]] std::optional<revocation> parse_revocation(
    std::string_view text) noexcept;
/// `security.certificate-revoked`.
struct certificate_revoked {
  node_id id;
  tenant_id tenant;
  std::string serial;  // hex
  std::int64_t generation = 1;
  revocation reason = revocation::revoked;
  std::string note;  // an operator's words, or empty
  time_point at;
  std::string answer;  // internal: the claim of the stored answer, or empty
  bool operator==(const certificate_revoked&) const = default;
};
/// What two machines that pass for one are known by: they take the node, or its
/// session, from one another too often in too short a time (CASES 68).
enum class clone_sign { reclaims, sessions };
[[nodiscard]] std::string_view clone_sign_text(clone_sign s) noexcept;
[[nodiscard]] std::optional<clone_sign> parse_clone_sign(
    std::string_view text) noexcept;
/// `node.clone-suspected`.
struct clone_suspected {
  node_id id;
  tenant_id tenant;
  std::string hardware_key;  // hex, or empty
  time_point at;
  clone_sign sign = clone_sign::reclaims;
  bool operator==(const clone_suspected&) const = default;
};
/// `node.hardware-shared`: permanent MACs of this node were seen on another
/// node too, as of a USB NIC that many machines have (CASES 54). A warning: no
/// key and no decision changes by it.
struct hardware_shared {
  node_id id;
  tenant_id tenant;
  std::vector<std::string> macs;  // SHA-256 of each, hex
  std::optional<node_id> other;   // the other node, when of the same tenant
  time_point at;
  bool operator==(const hardware_shared&) const = default;
};
using event =
    std::variant<joined, renewed, adopted, cordoned, retired,
                 certificate_revoked, clone_suspected, hardware_shared,
                 connected, disconnected, acceptance_started, acceptance_failed,
                 certificate_expiring, inventory_recorded>;

enum class status { adopting, adopted, cordoned, retired };
[[nodiscard]] std::string_view status_text(status s) noexcept;

struct issued {
  certificate cert;
  std::optional<time_point> revoked_at;
  std::optional<revocation> revoked_for = std::nullopt;
  bool operator==(const issued&) const = default;
};

struct state {
  std::uint64_t version = 0;
  std::optional<joined> node;  // the newest join; its trust is the node's
  status current = status::adopting;
  std::int64_t generation = 0;
  /// Of every generation, oldest first; without those that were over when the
  /// newest was issued (by a join with x509pop: that could not join by it any
  /// more), or superseded, so that a life of renewals stays small.
  std::vector<issued> certificates;
  std::vector<time_point> reclaims;  // in the clone window of the newest
  std::optional<time_point> clone_suspected_at;
  std::optional<cordoned> cordon;        // while cordoned
  std::optional<time_point> adopted_at;  // since the newest join
  std::optional<time_point> retired_at;
  std::optional<connected> session;          // the newest
  std::optional<disconnected> session_over;  // its end
  /// By another machine, it seems; in the clone window of the newest session.
  std::vector<time_point> takeovers;
  std::optional<time_point> acceptance_started_at;     // since the newest join
  std::uint64_t acceptance_started_version = 0;        // of that event
  std::optional<acceptance_failed> failed_acceptance;  // while it stands
  std::string told_of_expiry;  // serial of the certificate, or empty
  // What its inventory said of another key than its own, while it says so.
  std::optional<time_point> hardware_changed_at;
  std::vector<std::string> changed_identifiers;  // kinds, while it is so
  /// Of the inventory that its key came of; empty: of none.
  std::vector<pki::identifier_hash> identifiers;
  std::optional<time_point> hardware_taken_at;
};

/// A retired node stays so, whatever comes. A cordoned one that is reclaimed
/// stays cordoned: the operator's word is not lifted by a token.
[[nodiscard]] state evolve(state s, const event& e);

/// Moves of `joined`: releases the hw:<key> that it left, takes hw:<key> when
/// trusted and ek:<hash> when bound (both until released), serial:<serial> and
/// spki:<sha256> (until 8 days after notAfter), and
/// answer:<subject>:<csrSha256> for 10 minutes from `at`, and proof:<sha256>
/// for 130 s when it has one. Of `renewed`: the same serial, spki and answer
/// (subject: the node id), and proof:<sha256> for 130 s. Of
/// `certificate_revoked`: releases the answer. Of `retired`: releases hw:<key>
/// and ek:<hash>. Of `hardware_shared`: takes told_claim of each MAC for ever.
/// Of `inventory_recorded`: takes hw:<key> when the key is new and trusted.
[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

[[nodiscard]] std::string hardware_claim(std::string_view key);
[[nodiscard]] std::string ek_claim(std::string_view ek_hash);
[[nodiscard]] std::string answer_claim(std::string_view subject,
                                       std::string_view csr_sha256_hex);
[[nodiscard]] std::string spki_claim(std::string_view spki_sha256_hex);
[[nodiscard]] std::string proof_claim(std::string_view proof_sha256_hex);

/// Unrevoked and not over at `now`.
[[nodiscard]] bool is_live(const issued& i, time_point now);
/// How long after its end a certificate may still bring its machine back.
inline constexpr seconds rejoin_window{7 * 86'400};
/// Unrevoked, and over for no longer than the window, that moment included.
[[nodiscard]] bool may_rejoin(const issued& i, time_point now);
/// The certificate the node goes by: the newest, while it is live, of the
/// node's generation, and the node not retired; else null.
[[nodiscard]] const certificate* current_certificate(const state& s,
                                                     time_point now);
/// True when the node holds hw:<key>.
[[nodiscard]] bool holds_hardware(const state& s, std::string_view key);
/// True when an operator revoked the machine's identity, and it did not join
/// since.
[[nodiscard]] bool is_identity_revoked(const state& s);
/// True when the node holds ek:<hash>.
[[nodiscard]] bool is_bound_to(const state& s, std::string_view ek_hash);

/// Two reclaims in 10 minutes may be a bad disk; a third is two machines that
/// take the node from one another (CASES 68, 127).
inline constexpr seconds clone_window{600};
inline constexpr std::size_t reclaims_in_window = 2;
[[nodiscard]] bool is_reclaimed_too_often(const state& s, time_point now);

/// A machine becomes this node (a stream without events) or takes it back.
/// `what.reclaim` and `what.cert.generation` are set here: a reclaim revokes
/// every live certificate and is the next generation. INVALID_STATE when
/// retired.
struct join {
  joined what;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s, const join& c);

/// The node's machine goes on after its certificate was over. What the node is
/// (tenant, site, pool, trust, hardware key, token) is taken from it, and
/// `what.cert.generation` is set here: the next one; every live certificate is
/// revoked (`reclaimed`). NOT_FOUND without a node, INVALID_STATE when retired.
struct rejoin {
  joined what;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const rejoin& c);

/// A machine that renews as it should has three at a time.
inline constexpr std::size_t max_live_certificates = 8;

/// The node's machine goes on with a new certificate (what it is judged by:
/// renewal.hpp). `what.cert.generation` is set here: the node's own. Of the
/// live ones, the new one among them, at most max_live_certificates stay: the
/// oldest are revoked (`superseded`), the presented one never. NOT_FOUND
/// without a node, INVALID_STATE when retired.
struct renew {
  renewed what;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s, const renew& c);

/// Adopting or cordoned to adopted; INVALID_STATE when retired. Here as below:
/// NOT_FOUND without a node, and no events when there is nothing to change.
struct adopt {
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s, const adopt& c);

/// Adopting or adopted to cordoned; INVALID_STATE when retired.
struct cordon {
  time_point now;
  std::string reason;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const cordon& c);

/// Ends a cordoned node: revokes every live certificate (`deleted`) and gives
/// its hardware up. INVALID_STATE for one that is not cordoned.
struct retire {
  time_point now;
  std::string reason;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const retire& c);

/// Revokes every certificate that is live or could still bring its machine
/// back (`revoked`); the node stays what it is.
struct revoke_identity {
  time_point now;
  std::string note;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const revoke_identity& c);

/// Tells of a third reclaim, once in the clone window.
struct suspect_clone {
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const suspect_clone& c);

/// Tells that MACs of this node are another's too. Nothing for a retired node,
/// nor for the one that had them first when both are of one tenant: the newer
/// one's event says it all.
struct tell_shared {
  std::vector<std::string> macs;  // SHA-256 of each, hex
  node_id other;
  tenant_id others_tenant;
  bool had_them_first = false;
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const tell_shared& c);
/// Free until it was told that this MAC of the node is shared.
[[nodiscard]] std::string told_claim(const node_id& node,
                                     std::string_view mac_sha256_hex);

}  // namespace bc::events::node
