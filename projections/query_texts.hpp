#pragma once

#include "events/sql.hpp"

#include <string_view>

/// The SQL of every query. Each walks one index in key order from the cursor
/// on; a test holds that none scans a table.
namespace bc::projections::query {

#define BC_TOKEN_COLUMNS                                                    \
  "id, tenant, pool, site, role, max_uses, uses_left, expect_product_uuid," \
  " expect_serial, expect_mac, expect_gpu_uuid, allow_reclaim, hosted,"     \
  " created_at, expires_at, revoked_at"
#define BC_CERTIFICATE_COLUMNS                             \
  "c.serial, c.node, c.role, c.spki_sha256, c.generation," \
  " c.not_before, c.not_after, c.revoked_at"
#define BC_NODE_SELECT                                           \
  "select n.id, n.tenant, n.site, n.pool, n.status, n.attestor," \
  " n.hardware_key, n.hostname, n.node_key, n.role,"             \
  " n.hardware_key_trusted, n.generation, n.joined_at, "         \
  "n.adopted_at, " BC_CERTIFICATE_COLUMNS                        \
  " from nodes n left join node_certs c on c.serial = n.certificate"

inline constexpr std::string_view tenants =
    "select id, name, root, created_at from tenants"
    " where id > ?1 order by id limit ?2";

inline constexpr std::string_view sites =
    "select id, owner, name, kind, created_at from sites"
    " where owner = ?1 and id > ?2"
    " union all"
    " select id, owner, name, kind, created_at from sites"
    " where kind = 'shared' and owner <> ?1 and id > ?2"
    " order by id limit ?3";

// Postgres merges two lists in order only when each is bounded by itself; of
// SQLite the same would make it sort them.
inline constexpr std::string_view sites_on_postgres =
    "select * from (select id, owner, name, kind, created_at from sites"
    " where owner = ?1 and id > ?2 order by id limit ?3) own"
    " union all"
    " select * from (select id, owner, name, kind, created_at from sites"
    " where kind = 'shared' and owner <> ?1 and id > ?2 order by id limit ?3)"
    " shared order by id limit ?3";

inline constexpr std::string_view pools =
    "select id, tenant, site, name, agent, created_at from pools"
    " where tenant = ?1 and id > ?2 order by id limit ?3";

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

inline constexpr std::string_view nodes_of_tenant =
    BC_NODE_SELECT " where n.tenant = ?1 and n.id > ?2 order by n.id limit ?3";

inline constexpr std::string_view nodes_of_pool = BC_NODE_SELECT
    " where n.tenant = ?1 and n.pool = ?4 and n.id > ?2"
    " order by n.id limit ?3";

inline constexpr std::string_view one_node =
    BC_NODE_SELECT " where n.tenant = ?1 and n.id = ?2";

inline constexpr std::string_view certificates =
    "select " BC_CERTIFICATE_COLUMNS
    " from nodes n join node_certs c on c.node = n.id"
    " where n.id = ?2 and n.tenant = ?1 order by c.serial";

inline constexpr std::string_view credentials =
    "select id, tenant, principal, grants, created_at, revoked_at"
    " from credentials where tenant = ?1 and id > ?2 order by id limit ?3";

#undef BC_TOKEN_COLUMNS
#undef BC_CERTIFICATE_COLUMNS
#undef BC_NODE_SELECT

inline constexpr std::string_view all[] = {
    tenants,         sites,         pools,    all_tokens,   live_tokens,
    nodes_of_tenant, nodes_of_pool, one_node, certificates, credentials};

/// As this database is asked.
[[nodiscard]] constexpr std::string_view text_for(sql::dialect d,
                                                  std::string_view query) {
  return d == sql::dialect::postgres && query.data() == sites.data()
             ? sites_on_postgres
             : query;
}

}  // namespace bc::projections::query
