#pragma once

#include "events/sql.hpp"

#include <string_view>

/// The SQL of every query. Each walks one index in key order from the cursor
/// on; a test holds that none scans a table.
namespace bc::projections::query {

#define BC_TOKEN_COLUMNS                                                    \
  "id, tenant, pool, site, role, max_uses, uses_left, expect_product_uuid," \
  " expect_serial, expect_mac, expect_gpu_uuid, allow_reclaim, hosted,"     \
  " created_at, expires_at, revoked_at, node"
#define BC_REQUEST_SELECT                                               \
  "select id, tenant, site, pool, attestor, state, csr_sha256, claims," \
  " hardware_key, hardware_key_trusted, mac, ip, vouched_by,"           \
  " boot_lease_epoch, workflow, ek_hash, ek_cert, ek_manufacturer,"     \
  " ek_model, created_at, refreshed_at, expires_at, claims_changed,"    \
  " decided_at, decided_by, reason, consumed_at, superseded_at,"        \
  " node from join_requests"
#define BC_CERTIFICATE_COLUMNS                             \
  "c.serial, c.node, c.role, c.spki_sha256, c.generation," \
  " c.not_before, c.not_after, c.revoked_at, c.revoked_for"
#define BC_NODE_SELECT                                                 \
  "select n.id, n.tenant, n.site, n.pool, n.status, n.attestor,"       \
  " n.hardware_key, n.hostname, n.node_key, n.role, n.trust,"          \
  " n.hardware_key_trusted, n.acceptance, n.generation, n.joined_at,"  \
  " n.adopted_at, n.cordoned_at, n.cordon_reason, n.retired_at,"       \
  " n.clone_suspected_at, n.acceptance_started_at,"                    \
  " n.acceptance_failed_at, n.failed_checks, n.hardware_changed_at,"   \
  " n.hardware_taken_at, n.changed_identifiers, n.ek_hash, n.session," \
  " n.session_gateway, n.session_address, n.session_version,"          \
  " n.connected_at, n.disconnected_at, "                               \
  "n.disconnect_reason, " BC_CERTIFICATE_COLUMNS                       \
  " from nodes n left join node_certs c on c.serial = n.certificate"

#define BC_POOL_SELECT                                                    \
  "select id, tenant, site, name, agent, created_at, policy, archived_at" \
  " from pools"
#define BC_SITE_COLUMNS                                             \
  "select a.resource as id, s.owner, s.name, s.kind, s.created_at," \
  " s.dedicated_to, s.deleted_at from tenant_access a cross join "

inline constexpr std::string_view tenants =
    "select id, name, root, created_at from tenants"
    " where id > ?1 order by id limit ?2";

// What the tenant may see, and what everyone may: nothing is in both. A site
// that is not deleted counts as deleted at 0, so ?4 says which others to show.
// Both databases are made to walk the rows of access, not all sites: SQLite by
// the cross join, Postgres by a subquery that it may not take apart.
#define BC_SITES(WHO)                                        \
  BC_SITE_COLUMNS "sites s where a.tenant = " WHO            \
                  " and a.kind = 'site' and a.resource > ?2" \
                  " and s.id = a.resource"                   \
                  " and coalesce(s.deleted_at, 0) <= ?4"
#define BC_SITES_ON_POSTGRES(WHO)                                        \
  "(" BC_SITE_COLUMNS                                                    \
  "lateral (select owner, name, kind, created_at, dedicated_to,"         \
  " deleted_at from sites where id = a.resource"                         \
  " and coalesce(deleted_at, 0) <= ?4 offset 0) s where a.tenant = " WHO \
  " and a.kind = 'site' and a.resource > ?2 order by id limit ?3)"

inline constexpr std::string_view sites =
    BC_SITES("?1") " union all " BC_SITES("'*'") " order by id limit ?3";

// Postgres merges two lists in order only when each is bounded by itself; of
// SQLite the same would make it sort them.
inline constexpr std::string_view sites_on_postgres =
    "select * from " BC_SITES_ON_POSTGRES("?1")
    " own union all select * from " BC_SITES_ON_POSTGRES("'*'")
    " shared order by id limit ?3";

inline constexpr std::string_view pools =
    BC_POOL_SELECT " where tenant = ?1 and id > ?2 order by id limit ?3";

// The last condition is the partial index's own.
inline constexpr std::string_view live_pools = BC_POOL_SELECT
    " where tenant = ?1 and id > ?2 and archived_at is null"
    " order by id limit ?3";

inline constexpr std::string_view all_tokens =
    "select " BC_TOKEN_COLUMNS
    " from join_tokens where tenant = ?1 and pool = ?2 and id > ?3"
    " order by id limit ?4";

// The first three conditions on the row are the partial index's own.
inline constexpr std::string_view live_tokens =
    "select " BC_TOKEN_COLUMNS
    " from join_tokens where tenant = ?1 and pool = ?2 and id > ?3"
    " and revoked_at is null and uses_left > 0 and lapsed = 0"
    " and expires_at > ?5 order by id limit ?4";

inline constexpr std::string_view requests_of_scope =
    BC_REQUEST_SELECT " where scope = ?1 and id > ?2 order by id limit ?3";

// Those that end after ?5 and not after ?6.
inline constexpr std::string_view requests_by_state = BC_REQUEST_SELECT
    " where scope = ?1 and state = ?4 and id > ?2 and expires_at > ?5"
    " and expires_at <= ?6 order by id limit ?3";

// The second condition is the partial index's own, the third makes SQLite go by
// it.
inline constexpr std::string_view taken_places =
    "select place from join_requests where site = ?1 and place is not null"
    " and place >= 0 and expires_at > ?2";

// By the same index: what waits for a ramdisk takes a place.
inline constexpr std::string_view waiting_macs =
    "select mac from join_requests where site = ?1 and place is not null"
    " and place >= 0 and expires_at > ?2 and mac is not null";

// The first condition is the partial index's own, the second makes SQLite go
// by it.
inline constexpr std::string_view joined_requests =
    "select joined_as, id, csr_sha256, refreshed_at from join_requests"
    " where joined_as is not null and (joined_as, id) > (?1, ?2)"
    " and expires_at > ?3 order by joined_as, id limit ?4";

// Of nodes that are not retired. An empty text compares with everything.
inline constexpr std::string_view nodes_of_tenant = BC_NODE_SELECT
    " where n.tenant = ?1 and n.id > ?2 and n.retired_at is null"
    " and (?4 = '' or n.status = ?4) order by n.id limit ?3";

inline constexpr std::string_view nodes_of_pool = BC_NODE_SELECT
    " where n.tenant = ?1 and n.pool = ?4 and n.id > ?2"
    " and n.retired_at is null and (?5 = '' or n.site = ?5)"
    " and (?6 = '' or n.status = ?6) order by n.id limit ?3";

inline constexpr std::string_view nodes_of_site = BC_NODE_SELECT
    " where n.tenant = ?1 and n.site = ?4 and n.id > ?2"
    " and n.retired_at is null and (?5 = '' or n.status = ?5)"
    " order by n.id limit ?3";

// Retired ones too. The second condition is the partial index's own.
inline constexpr std::string_view nodes_of_status = BC_NODE_SELECT
    " where n.tenant = ?1 and n.status <> 'adopted' and n.status = ?4"
    " and n.id > ?2 and (?5 = '' or n.pool = ?5)"
    " and (?6 = '' or n.site = ?6) order by n.id limit ?3";

// Of those whose newest join was with this token, without retired ones.
inline constexpr std::string_view nodes_of_token = BC_NODE_SELECT
    " where n.tenant = ?1 and n.token = ?4 and n.token is not null"
    " and n.id > ?2 and n.retired_at is null order by n.id limit ?3";

inline constexpr std::string_view one_node =
    BC_NODE_SELECT " where n.tenant = ?1 and n.id = ?2";

// The newest first.
inline constexpr std::string_view newest_certificates =
    "select " BC_CERTIFICATE_COLUMNS
    " from nodes n join node_certs c on c.node = n.id"
    " where n.id = ?2 and n.tenant = ?1"
    " order by c.not_before desc, c.serial desc limit ?3";

// None that began before ?4 lives any more.
inline constexpr std::string_view live_certificates =
    "select " BC_CERTIFICATE_COLUMNS
    " from nodes n join node_certs c on c.node = n.id"
    " where n.id = ?2 and n.tenant = ?1 and c.not_before > ?4"
    " and c.not_after > ?3 and c.revoked_at is null";

inline constexpr std::string_view certificates_of_node =
    "select count(*) from nodes n join node_certs c on c.node = n.id"
    " where n.id = ?2 and n.tenant = ?1";

inline constexpr std::string_view credentials =
    "select id, tenant, principal, grants, created_at, revoked_at"
    " from credentials where tenant = ?1 and id > ?2 order by id limit ?3";

// The first condition is the partial index's own, the second makes SQLite go
// by it.
inline constexpr std::string_view untold_shared =
    "select node, other, mac from shared_macs where told_at is null"
    " and node > '' order by node, other, mac limit ?1";

// The conditions that ask for no value are the partial indexes' own.
inline constexpr std::string_view nodes_to_warn =
    "select id from nodes where warn_at is not null and warn_at <= ?1"
    " order by warn_at limit ?2";

inline constexpr std::string_view next_gateway =
    "select session_gateway from nodes where session_gateway > ?1"
    " and connected_at is not null and disconnected_at is null"
    " order by session_gateway limit 1";

inline constexpr std::string_view nodes_at =
    "select id from nodes where session_gateway = ?1"
    " and connected_at is not null and disconnected_at is null"
    " order by id limit ?2";

inline constexpr std::string_view sessions_at =
    "select count(*) from nodes where session_gateway = ?1"
    " and connected_at is not null and disconnected_at is null";

inline constexpr std::string_view nodes_ending =
    "select count(*) from nodes where certificate_ends is not null"
    " and certificate_ends > ?1 and certificate_ends <= ?2"
    // None once it was told.
    " and (warn_at is null or warn_at <= ?3)";

inline constexpr std::string_view commands_waiting =
    "select count(*) from commands where completed_at is null"
    " and expires_at > ?1";

inline constexpr std::string_view last_revocation =
    "select revoked_position, revoked_at from node_certs"
    " where revoked_position is not null and revoked_position > ?1"
    " order by revoked_position desc limit 1";

// The sum keeps either database from walking every revocation there ever was.
inline constexpr std::string_view revoked_certificates =
    "select serial, revoked_at, revoked_for, der from node_certs"
    " where revoked_position is not null and not_after > ?1"
    " and revoked_position + 0 <= ?2";

// The newest first. Payloads and outputs are of one command alone.
inline constexpr std::string_view commands_of_node =
    "select seq, id, tenant, node, kind, '' as payload, enqueued_at,"
    " expires_at, completed_at, succeeded, null as output from commands"
    " where node = ?2 and tenant = ?1 and seq < ?3 order by seq desc limit ?4";

inline constexpr std::string_view one_command =
    "select seq, id, tenant, node, kind, payload, enqueued_at, expires_at,"
    " completed_at, succeeded, output from commands"
    " where id = ?3 and node = ?2 and tenant = ?1";

// What was made before ?4 is over: nothing older is looked at.
inline constexpr std::string_view pending_commands =
    "select id from commands where node = ?1 and completed_at is null"
    " and expires_at > ?2 and enqueued_at > ?4"
    " order by enqueued_at, seq limit ?3";

#undef BC_TOKEN_COLUMNS
#undef BC_REQUEST_SELECT
#undef BC_CERTIFICATE_COLUMNS
#undef BC_NODE_SELECT
#undef BC_POOL_SELECT
#undef BC_SITE_COLUMNS
#undef BC_SITES
#undef BC_SITES_ON_POSTGRES

inline constexpr std::string_view all[] = {tenants,
                                           sites,
                                           pools,
                                           live_pools,
                                           all_tokens,
                                           live_tokens,
                                           nodes_of_tenant,
                                           nodes_of_pool,
                                           nodes_of_site,
                                           nodes_of_status,
                                           one_node,
                                           newest_certificates,
                                           live_certificates,
                                           certificates_of_node,
                                           joined_requests,
                                           credentials,
                                           untold_shared,
                                           nodes_to_warn,
                                           next_gateway,
                                           nodes_at,
                                           nodes_of_token,
                                           sessions_at,
                                           nodes_ending,
                                           last_revocation,
                                           revoked_certificates,
                                           commands_waiting,
                                           commands_of_node,
                                           one_command,
                                           pending_commands,
                                           requests_of_scope,
                                           requests_by_state,
                                           taken_places,
                                           waiting_macs};

/// As this database is asked.
[[nodiscard]] constexpr std::string_view text_for(sql::dialect d,
                                                  std::string_view query) {
  return d == sql::dialect::postgres && query.data() == sites.data()
             ? sites_on_postgres
             : query;
}

}  // namespace bc::projections::query
