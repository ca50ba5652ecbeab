#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "pki/hardware_key.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::projections {

struct tenant_row {
  std::string id, name;
  bool root = false;
  time_point created_at;
};
struct site_row {
  std::string id, owner, name, kind;
  time_point created_at;
  std::optional<std::string> dedicated_to;
  std::optional<time_point> deleted_at;
};
struct pool_row {
  std::string id, tenant, site, name, agent;
  time_point created_at;
  std::string policy;  // a JSON object (events/directory.hpp)
  std::optional<time_point> archived_at;
};
struct join_token_row {
  std::string id, tenant;
  std::string pool;  // empty: a site token
  std::string site, role;
  std::int64_t max_uses = 1, uses_left = 0;
  pki::hardware_expectation expect;
  bool allow_reclaim = false;
  std::optional<std::string> hosted;
  time_point created_at, expires_at;
  std::optional<time_point> revoked_at;
  std::optional<std::string> node;
};
struct join_request_row {
  std::string id, tenant, site;
  std::string pool;  // empty: nobody has claimed it
  std::string attestor;
  /// As it is written down; what ended since is still as it was (see
  /// expires_at).
  std::string state;
  std::string csr_sha256;
  std::string claims;        // a JSON object (events/join_request.hpp)
  std::string hardware_key;  // empty: none
  bool hardware_key_trusted = false;
  std::optional<std::string> mac = {}, ip = {}, vouched_by = {};
  std::optional<std::int64_t> boot_lease_epoch = {};
  std::optional<std::string> workflow = {};
  std::optional<std::string> ek_hash = {}, ek_cert = {}, ek_manufacturer = {},
                             ek_model = {};
  time_point created_at;  // of the newest CSR
  std::optional<time_point> refreshed_at = {};
  time_point expires_at;
  bool claims_changed = false;
  std::optional<time_point> decided_at = {};
  std::optional<std::string> decided_by = {}, reason = {};
  std::optional<time_point> consumed_at = {}, superseded_at = {};
  std::optional<std::string> node = {};
  bool operator==(const join_request_row&) const = default;
};
struct command_row {
  std::string sequence;  // of all commands, in the order they were made
  std::string id, tenant, node, kind;
  std::string payload;  // a JSON object; empty in a list
  time_point enqueued_at, expires_at;
  std::optional<time_point> completed_at = {};
  std::optional<bool> succeeded = {};
  std::optional<std::string> output = {};  // not in a list
};
struct credential_row {
  std::string id, tenant, principal;
  std::string grants;  // a JSON array of {"action", "resource"}
  time_point created_at;
  std::optional<time_point> revoked_at;
};
struct certificate_row {
  std::string serial, node, role, spki_sha256;
  std::int64_t generation = 1;
  time_point not_before, not_after;
  std::optional<time_point> revoked_at;
  std::optional<std::string> revoked_for;
};
/// What is shown of a node's certificates, the newest first.
struct certificates_of_node {
  std::vector<certificate_row> shown;
  std::uint64_t total = 0;  // how many it ever had
};
/// A node's newest session; its end is empty while it lives.
struct session_row {
  std::string id, gateway, address, version;
  time_point connected_at;
  std::optional<time_point> disconnected_at;
  std::optional<std::string> reason;  // of the end
};
struct node_row {
  std::string id, tenant, site;
  std::string pool;  // empty: a site agent
  std::string status, attestor, hardware_key, hostname, node_key, role, trust;
  bool hardware_key_trusted = false;
  bool acceptance = false;
  std::int64_t generation = 1;
  time_point joined_at;
  std::optional<time_point> adopted_at, cordoned_at;
  std::optional<std::string> cordon_reason;
  std::optional<time_point> retired_at, clone_suspected_at;
  std::optional<certificate_row> certificate;  // the current one
  std::optional<session_row> session = {};
  std::optional<time_point> acceptance_started_at = {},
                            acceptance_failed_at = {};
  std::optional<std::string> failed_checks = {};  // a JSON array of texts
  std::optional<time_point> hardware_changed_at = {}, hardware_taken_at = {};
  /// A JSON array of kinds (pki::changed_kinds).
  std::optional<std::string> changed_identifiers = {};
  std::optional<std::string> ek_hash = {};
};

/// As events/audit.hpp has it.
struct audit_row {
  std::string id;
  std::uint64_t position = 0;
  std::string tenant;  // whose the resource is
  time_point at;
  std::string principal;
  std::optional<std::string> actor_tenant, credential;
  std::string action, resource, event, correlation;
  std::string details;  // a JSON object
};

/// The newest revocation of a certificate, of whatever tenant.
struct revocation_row {
  std::uint64_t position = 0;
  time_point at;
};
struct revoked_row {
  std::string serial;
  time_point at;
  std::string why;  // as events::node::revocation_text has it
  std::string der;  // the certificate, base64
};

/// MACs of a node that another, of whatever tenant, had before, and that nobody
/// was told of yet (CASES 54).
struct shared_hardware_row {
  std::string node, other;
  std::vector<std::string> macs;  // SHA-256 of each, hex
};

struct joined_request_row {
  std::string node, request;
  /// As it was when its machine joined.
  std::string csr_sha256;
  std::optional<time_point> refreshed_at = {};
};

/// Which nodes of a tenant; an empty text: whatever it is.
struct node_filter {
  std::string tenant, pool = {}, site = {}, status = {};
  /// Also when no status is asked for.
  bool include_retired = false;
};

/// Which join requests: the pool's own, and those of the site (empty: none)
/// that nobody has claimed. An empty state: whatever it is; `expired` are also
/// those that ended by `now`, which are in no other.
struct request_filter {
  std::string pool, site = {}, state = {};
  time_point now;
};

/// Which rows of a tenant's audit: of decisions on what is the tenant's, and of
/// those by its own callers; an empty text: whatever it is.
struct audit_filter {
  std::string tenant, action = {}, resource = {}, principal = {},
                      correlation = {};
  std::optional<time_point> from = {};   // at this time or later
  std::optional<time_point> until = {};  // before this time
  bool newest_first = false;
};

/// One page in id order; `next` is the cursor of the next one, if any.
template <class Row>
struct page {
  std::vector<Row> items;
  std::optional<std::string> next;
};

/// What lists and gets are served from. Thread-safe; blocks on disk.
/// `after` is an id (exclusive), empty for the first page; every page is at
/// most `limit` rows. Rows of other tenants are never returned.
class queries {
 public:
  virtual ~queries() = default;
  [[nodiscard]] virtual result<page<tenant_row>> list_tenants(
      std::string_view after, int limit) = 0;
  /// The sites the tenant may see (projections/access.hpp), deleted ones only
  /// when they are asked for.
  [[nodiscard]] virtual result<page<site_row>> list_sites(
      std::string_view tenant, bool include_deleted, std::string_view after,
      int limit) = 0;
  /// Archived ones only when they are asked for.
  [[nodiscard]] virtual result<page<pool_row>> list_pools(
      std::string_view tenant, bool include_archived, std::string_view after,
      int limit) = 0;
  /// Live tokens at `now`: not revoked, uses left, not expired; with
  /// include_inactive all.
  [[nodiscard]] virtual result<page<join_token_row>> list_join_tokens(
      std::string_view tenant, std::string_view pool, bool include_inactive,
      time_point now, std::string_view after, int limit) = 0;
  /// Whoever asks must have seen that pool and site are the tenant's to see.
  [[nodiscard]] virtual result<page<join_request_row>> list_join_requests(
      const request_filter& which, std::string_view after, int limit) = 0;
  /// The places of a site that pending requests have, in no order
  /// (events::join_request::place_claim). Only where to look for a free one.
  [[nodiscard]] virtual result<std::vector<std::int64_t>> taken_places(
      std::string_view site, time_point now) = 0;
  /// MACs that a site agent vouched for in several of the site's pending
  /// requests: one machine, or one that says to be another, in no order.
  [[nodiscard]] virtual result<std::vector<std::string>> shared_macs(
      std::string_view site, time_point now) = 0;
  /// Requests, of whatever tenant, that wait or are approved at `now` and whose
  /// machine became a node by another way, by node and request from `after` on,
  /// of which those two count. Only where to look.
  [[nodiscard]] virtual result<std::vector<joined_request_row>> joined_requests(
      const joined_request_row& after, time_point now, int limit) = 0;
  [[nodiscard]] virtual result<page<node_row>> list_nodes(
      const node_filter& which, std::string_view after, int limit) = 0;
  [[nodiscard]] virtual result<std::optional<node_row>> get_node(
      std::string_view tenant, std::string_view node) = 0;
  /// The newest, `most` of them, and whichever else live at `now`.
  [[nodiscard]] virtual result<certificates_of_node> list_certificates(
      std::string_view tenant, std::string_view node, time_point now,
      int most) = 0;
  /// The newest first; `after` is a sequence, and so is the cursor.
  [[nodiscard]] virtual result<page<command_row>> list_commands(
      std::string_view tenant, std::string_view node, std::string_view after,
      int limit) = 0;
  [[nodiscard]] virtual result<std::optional<command_row>> get_command(
      std::string_view tenant, std::string_view node,
      std::string_view command) = 0;
  /// The ids of those without an outcome whose time is not up at `now`, of
  /// whatever tenant; the oldest first.
  [[nodiscard]] virtual result<std::vector<std::string>> pending_commands(
      std::string_view node, time_point now, int limit) = 0;
  /// Revoked ones too.
  [[nodiscard]] virtual result<page<credential_row>> list_credentials(
      std::string_view tenant, std::string_view after, int limit) = 0;
  /// In the order that is asked for; `after` goes on in it.
  [[nodiscard]] virtual result<page<audit_row>> list_audit(
      const audit_filter& which, std::string_view after, int limit) = 0;
  /// For the warning alone. Of at most `limit` MACs; all of a node's and
  /// another's together, unless these are more than that.
  [[nodiscard]] virtual result<std::vector<shared_hardware_row>>
  untold_shared_hardware(int limit) = 0;
  /// Nodes, of whatever tenant, whose newest certificate should have been
  /// renewed by `now` and that nobody was told of yet; the most urgent first.
  [[nodiscard]] virtual result<std::vector<std::string>> nodes_to_warn(
      time_point now, int limit) = 0;
  /// The gateway after this one, in the order of ids, that has sessions.
  [[nodiscard]] virtual result<std::optional<std::string>> next_gateway(
      std::string_view after) = 0;
  /// Nodes, of whatever tenant, that have a session at this gateway.
  [[nodiscard]] virtual result<std::vector<std::string>> nodes_at(
      std::string_view gateway, int limit) = 0;
  /// Nodes whose newest join was with this token, retired ones left out.
  [[nodiscard]] virtual result<page<node_row>> list_nodes_of_token(
      std::string_view tenant, std::string_view token, std::string_view after,
      int limit) = 0;
  /// How many nodes, of whatever tenant, have a session at this gateway.
  [[nodiscard]] virtual result<std::uint64_t> sessions_at(
      std::string_view gateway) = 0;
  /// How many nodes, of whatever tenant, go by a certificate that ends in
  /// (after, until] and is one to warn of by now: not renewed in time.
  [[nodiscard]] virtual result<std::uint64_t> nodes_ending(time_point after,
                                                           time_point until,
                                                           time_point now) = 0;
  /// How many commands, of whatever tenant, have no outcome and time left.
  [[nodiscard]] virtual result<std::uint64_t> commands_waiting(
      time_point now) = 0;
  [[nodiscard]] virtual result<std::optional<revocation_row>>
  last_revocation() = 0;
  /// Every certificate that was revoked at this position or before it and ends
  /// after this time, in no order.
  [[nodiscard]] virtual result<std::vector<revoked_row>> revoked_certificates(
      time_point ends_after, std::uint64_t position) = 0;
  /// Of the last event that these answers show: on SQLite the head.
  [[nodiscard]] virtual result<std::uint64_t> position() = 0;
  /// How many streams the projector gave up on.
  [[nodiscard]] virtual result<std::uint64_t> parked() = 0;
};

/// Over the store's file, on a read-only connection of its own.
[[nodiscard]] result<std::unique_ptr<queries>> open_queries(
    const std::string& path);

/// Over a store in Postgres, on up to four connections of their own. The first
/// must succeed; one that is lost later is replaced, and the query asked once
/// more. INVALID_STATE for rows that an older program wrote.
[[nodiscard]] result<std::unique_ptr<queries>> open_postgres_queries(
    const std::string& url);

}  // namespace bc::projections
