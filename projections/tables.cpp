#include "projections/tables.hpp"

#include "schema/embedded.hpp"

namespace bc::projections {

namespace {

constexpr std::string_view indexes[] = {
    "sites_by_owner",          "sites_shared",
    "pools_by_tenant",         "join_tokens_live",
    "join_tokens_by_pool",     "join_tokens_by_expiry",
    "nodes_by_tenant",         "nodes_by_pool",
    "node_certs_by_node",      "credentials_by_tenant",
    "tenant_access_by_tenant", "pools_live",
    "nodes_by_site",           "nodes_by_status",
    "audit_by_tenant",         "audit_by_resource",
    "audit_by_correlation",    "audit_by_principal",
    "audit_by_action",         "node_macs_by_mac",
    "shared_macs_by_other",    "shared_macs_untold",
    "nodes_by_gateway",        "nodes_to_warn",
    "commands_by_node",        "commands_pending",
    "nodes_by_token",          "nodes_by_end",
    "node_certs_revoked",      "node_certs_by_revocation",
    "commands_by_end",         "join_requests_by_scope",
    "join_requests_by_state",  "join_requests_by_expiry",
    "join_requests_by_place",  "join_requests_by_hardware",
    "join_requests_by_ek",     "join_requests_by_mac",
    "join_requests_joined",
};

// Of the folders schema/sql and schema/postgres, in order.
constexpr std::string_view migrations[] = {
    "0100_create_read_models.sql",   "0101_extend_directory.sql",
    "0102_extend_nodes.sql",         "0104_version_read_models.sql",
    "0105_find_shared_hardware.sql", "0106_audit_by_actor.sql",
    "0107_follow_sessions.sql",      "0109_queue_commands.sql",
    "0110_watch_certificates.sql",   "0111_keep_join_requests.sql",
    "0112_show_bound_nodes.sql",
};

bool is_word(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_ours(std::string_view word) {
  for (const auto& t : tables)
    if (t.name == word)
      return true;
  for (auto i : indexes)
    if (i == word)
      return true;
  return false;
}

// Adds the suffix to every word that names a table or an index of ours.
std::string with_suffix(std::string_view sql, std::string_view suffix) {
  std::string out;
  for (std::size_t at = 0; at < sql.size();) {
    auto end = at;
    while (end < sql.size() && is_word(sql[end]))
      ++end;
    if (end == at) {
      out += sql[at++];
      continue;
    }
    auto word = sql.substr(at, end - at);
    out += word;
    if (is_ours(word))
      out += suffix;
    at = end;
  }
  return out;
}

std::string_view migration(sql::dialect d, std::string_view name) {
  std::string path{d == sql::dialect::sqlite ? "sql/" : "postgres/"};
  return schema::text_of(path.append(name));
}

// The statements of all migrations that are wanted, with what precedes them.
template <class Wanted>
std::string statements_of(sql::dialect d, Wanted wanted) {
  std::string out;
  for (auto name : migrations) {
    auto left = migration(d, name);
    while (!left.empty()) {
      auto end = left.find(';');
      auto size = end == std::string_view::npos ? left.size() : end + 1;
      if (auto one = left.substr(0, size); wanted(one))
        out += one;
      left.remove_prefix(size);
    }
  }
  return out;
}

bool is_of_checkpoint(std::string_view statement) {
  return statement.find("projection_checkpoint") != std::string_view::npos;
}

// A migration may also replace an index of an older one.
std::string index_script(sql::dialect d) {
  return statements_of(d, [](std::string_view s) {
    return s.find("create index") != std::string_view::npos ||
           s.find("drop index") != std::string_view::npos;
  });
}

// "alter WHAT NAME__new rename to NAME;"
std::string rename_statement(std::string_view what, std::string_view name,
                             std::string_view end = {}) {
  std::string out{"alter "};
  out.append(what).append(" ").append(name).append(shadow_suffix).append(end);
  return out.append(" rename to ").append(name).append(end).append(";\n");
}

std::string for_each_table(std::string_view command, std::string_view suffix) {
  std::string out;
  for (const auto& t : tables)
    out.append(command).append(t.name).append(suffix).append(";\n");
  return out;
}

}  // namespace

std::string creation_script(sql::dialect d, std::string_view suffix) {
  return with_suffix(
      statements_of(d, [](std::string_view s) { return !is_of_checkpoint(s); }),
      suffix);
}

std::string checkpoint_script(sql::dialect d) {
  return "drop table if exists projection_checkpoint;\n" +
         statements_of(d, is_of_checkpoint);
}

std::string drop_script(std::string_view suffix) {
  return for_each_table("drop table if exists ", suffix);
}

std::string read_script(sql::dialect d) {
  if (d == sql::dialect::sqlite)
    return "begin";
  std::string names;
  for (const auto& t : tables)
    names.append(names.empty() ? "" : ", ").append(t.name);
  return "begin isolation level repeatable read read only; lock table " +
         names + " in access share mode";
}

std::string analyze_script() {
  return for_each_table("analyze ", shadow_suffix);
}

std::string swap_script(sql::dialect d) {
  auto out = drop_script("");
  // SQLite cannot rename an index.
  if (d == sql::dialect::sqlite)
    for (auto i : indexes)
      out.append("drop index ").append(i).append(shadow_suffix).append(";\n");
  for (const auto& t : tables)
    out += rename_statement("table", t.name);
  if (d == sql::dialect::sqlite)
    return out + index_script(d);
  for (const auto& t : tables)
    out += rename_statement("index", t.name, "_pkey");
  for (auto i : indexes)
    out += rename_statement("index", i);
  return out;
}

statements::statements(std::string_view suffix) {
  auto set = [suffix](std::string& to, std::string_view sql) {
    to = with_suffix(sql, suffix);
  };
  set(add_tenant,
      "insert into tenants (id, name, root, created_at) values (?, ?, ?, ?)");
  set(add_site,
      "insert into sites (id, owner, name, kind, created_at, dedicated_to)"
      " values (?, ?, ?, ?, ?, ?)");
  set(update_site, "update sites set name = ?, dedicated_to = ? where id = ?");
  set(delete_site, "update sites set deleted_at = ? where id = ?");
  set(add_pool,
      "insert into pools (id, tenant, site, name, agent, created_at, policy)"
      " values (?, ?, ?, ?, ?, ?, ?)");
  set(update_pool,
      "update pools set name = ?, agent = ?, policy = ? where id = ?");
  set(archive_pool, "update pools set archived_at = ? where id = ?");
  set(add_token,
      "insert into join_tokens (id, tenant, pool, site, role, max_uses,"
      " uses_left, expect_product_uuid, expect_serial, expect_mac,"
      " expect_gpu_uuid, allow_reclaim, hosted, created_at, expires_at, node)"
      " values (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
      " ?14, ?15)");
  set(spend_token,
      "update join_tokens set uses_left = uses_left - ?2"
      " where id = ?1 and uses_left >= ?2");
  set(revoke_token, "update join_tokens set revoked_at = ? where id = ?");
  // A few for each event: a crowd that expires at once must not make one
  // append slow, and no event adds more than one.
  set(lapse_tokens,
      "update join_tokens set lapsed = 1 where id in (select id from"
      " join_tokens where lapsed = 0 and expires_at <= ?"
      " order by expires_at, id limit 16)");
  set(next_expiry, "select min(expires_at) from join_tokens where lapsed = 0");
  set(open_request,
      "insert into join_requests (id, scope, tenant, site, pool, attestor,"
      " state, open, csr_sha256, claims, hardware_key, hardware_key_trusted,"
      " mac, ip, vouched_by, boot_lease_epoch, workflow, ek_hash, ek_cert,"
      " ek_manufacturer, ek_model, place, created_at, expires_at)"
      " values (?1, ?2, ?3, ?4, ?5, ?6, 'pending', 1, ?7, ?8, ?9, ?10, ?11,"
      " ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)");
  // Another CSR restarts its age. An event may be dated past the expiry that it
  // was appended before, and have the row lapse first.
  set(refresh_request,
      "update join_requests set created_at = case when csr_sha256 = ?2"
      " then created_at else ?15 end, csr_sha256 = ?2, claims = ?3,"
      " hardware_key = ?4, hardware_key_trusted = ?5, mac = ?6, ip = ?7,"
      " vouched_by = ?8, boot_lease_epoch = ?9, workflow = ?10, ek_hash = ?11,"
      " ek_cert = ?12, ek_manufacturer = ?13, ek_model = ?14,"
      " refreshed_at = ?15, expires_at = ?16, claims_changed = 1,"
      " state = 'pending', open = 1, place = ?17, joined_as = null"
      " where id = ?1");
  set(approve_request,
      "update join_requests set scope = ?2, pool = ?2, state = 'approved',"
      " open = 1, place = null, expires_at = ?3, decided_at = ?4, decided_by = "
      "?5,"
      " reason = ?6 where id = ?1");
  set(reject_request,
      "update join_requests set scope = ?2, pool = ?2, state = 'rejected',"
      " open = 0, place = null, joined_as = null, decided_at = ?3,"
      " decided_by = ?4, reason = ?5"
      " where id = ?1");
  set(consume_request,
      "update join_requests set state = 'consumed', open = 0,"
      " joined_as = null, consumed_at = ?2, node = ?3 where id = ?1");
  set(supersede_request,
      "update join_requests set state = 'expired', open = 0, place = null,"
      " expires_at = ?2, superseded_at = ?2, node = ?3, joined_as = null"
      " where id = ?1");
  // As events::is_same_machine has it. Those of the node's own site alone: what
  // the machine asks of another one is a request of its own. ?4: a ramdisk.
  set(join_by_hardware,
      "update join_requests set joined_as = ?1 where open = 1 and site = ?2"
      " and hardware_key = ?3 and hardware_key_trusted = 1"
      " and (ek_hash is null or ?4 = 0)"
      " and (?5 = case pool when '' then tenant else (select pools.tenant"
      " from pools where pools.id = join_requests.pool) end"
      " or (pool = '' and exists (select 1 from sites where"
      " sites.id = join_requests.site and sites.kind = 'dedicated'"
      " and sites.dedicated_to = ?5)))");
  set(join_by_ek,
      "update join_requests set joined_as = ?1 where open = 1 and site = ?2"
      " and ek_hash = ?3 and ?4 = 0");
  set(join_by_mac,
      "update join_requests set joined_as = ?1 where open = 1 and site = ?2"
      " and mac = ?3 and hardware_key_trusted = 0 and state = 'pending'"
      " and (ek_hash is null or ?4 = 0)"
      " and (pool = ?5 or (pool = '' and tenant = ?6))");
  set(forget_joined,
      "update join_requests set joined_as = null where joined_as = ?");
  // A few for each event, as of tokens.
  set(lapse_requests,
      "update join_requests set state = 'expired', open = 0, place = null,"
      " joined_as = null where id in"
      " (select id from join_requests where open = 1 and expires_at <= ?"
      " order by expires_at, id limit 16)");
  set(put_node,
      "insert into nodes (id, tenant, site, pool, status, attestor,"
      " hardware_key, hardware_key_trusted, hostname, node_key, role,"
      " generation, joined_at, certificate, trust, acceptance, warn_at, token,"
      " certificate_ends, ek_hash)"
      " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
      " on conflict (id) do update set tenant = excluded.tenant,"
      " site = excluded.site, pool = excluded.pool,"
      " status = case when nodes.status = 'cordoned' then nodes.status"
      " else excluded.status end, attestor = excluded.attestor,"
      " hardware_key = excluded.hardware_key,"
      " hardware_key_trusted = excluded.hardware_key_trusted,"
      " hostname = excluded.hostname, node_key = excluded.node_key,"
      " role = excluded.role, generation = excluded.generation,"
      " joined_at = excluded.joined_at, adopted_at = null,"
      " certificate = excluded.certificate, trust = excluded.trust,"
      " acceptance = excluded.acceptance, acceptance_started_at = null,"
      " acceptance_failed_at = null, failed_checks = null,"
      " hardware_changed_at = null, hardware_taken_at = null,"
      " changed_identifiers = null, ek_hash = excluded.ek_hash,"
      " warn_at = excluded.warn_at, token = excluded.token,"
      " certificate_ends = excluded.certificate_ends");
  set(rejoin_node,
      "update nodes set attestor = ?, hostname = ?, node_key = ?, role = ?,"
      " generation = ?, acceptance = ?, certificate = ?, warn_at = ?,"
      " certificate_ends = ? where id = ?");
  set(renew_node,
      "update nodes set certificate = ?, warn_at = ?, certificate_ends = ?"
      " where id = ?");
  set(adopt_node,
      "update nodes set status = ?, adopted_at = ?, cordoned_at = null,"
      " cordon_reason = null, acceptance_failed_at = null,"
      " failed_checks = null where id = ?");
  set(cordon_node,
      "update nodes set status = ?, cordoned_at = ?, cordon_reason = ?"
      " where id = ?");
  set(retire_node,
      "update nodes set status = ?1, retired_at = ?2, cordoned_at = null,"
      " cordon_reason = null, warn_at = null, certificate_ends = null,"
      " disconnected_at = case"
      " when connected_at is not null and disconnected_at is null then ?2"
      " else disconnected_at end, disconnect_reason = case"
      " when connected_at is not null and disconnected_at is null then 'cut'"
      " else disconnect_reason end where id = ?3");
  set(suspect_clone, "update nodes set clone_suspected_at = ? where id = ?");
  set(connect_node,
      "update nodes set session = ?, session_gateway = ?, session_address = ?,"
      " session_version = ?, connected_at = ?, disconnected_at = null,"
      " disconnect_reason = null where id = ?");
  set(disconnect_node,
      "update nodes set disconnected_at = ?, disconnect_reason = ?"
      " where id = ? and session = ?");
  set(start_acceptance,
      "update nodes set acceptance_started_at = ? where id = ?");
  set(fail_acceptance,
      "update nodes set acceptance_failed_at = ?, failed_checks = ?"
      " where id = ?");
  set(record_inventory,
      "update nodes set hardware_key = ?1, hardware_key_trusted = ?2,"
      " hardware_changed_at = case when ?3 = 0 then null"
      " else coalesce(hardware_changed_at, ?5) end,"
      " hardware_taken_at = case when ?4 = 0 then null"
      " else coalesce(hardware_taken_at, ?5) end,"
      " changed_identifiers = ?7 where id = ?6");
  set(enqueue_command,
      "insert into commands (id, seq, tenant, node, kind, payload,"
      " enqueued_at, expires_at) values (?, ?, ?, ?, ?, ?, ?, ?)");
  set(complete_command,
      "update commands set completed_at = ?, succeeded = ?, output = ?"
      " where id = ? and completed_at is null");
  set(tell_of_expiry, "update nodes set warn_at = null where id = ?");
  set(expect_no_renewal,
      "update nodes set warn_at = null, certificate_ends = null"
      " where id = ? and certificate = ?");
  set(add_certificate,
      "insert into node_certs (serial, node, role, generation, spki_sha256,"
      " not_before, not_after, der) values (?, ?, ?, ?, ?, ?, ?, ?)");
  set(revoke_certificate,
      "update node_certs set revoked_at = coalesce(revoked_at, ?),"
      " revoked_for = coalesce(revoked_for, ?),"
      " revoked_position = coalesce(revoked_position, ?)"
      " where serial = ? and node = ?");
  set(show,
      "insert into tenant_access (id, tenant, kind, resource)"
      " values (?, ?, ?, ?) on conflict (id) do nothing");
  set(hide_from_others,
      "delete from tenant_access where id > ?1 and id < ?2"
      " and tenant <> ?3 and tenant <> ?4");
  set(add_credential,
      "insert into credentials (id, tenant, principal, grants, created_at)"
      " values (?, ?, ?, ?, ?)");
  set(revoke_credential, "update credentials set revoked_at = ? where id = ?");
  set(add_audit,
      "insert into audit (row_id, id, position, tenant, owner, at, principal,"
      " actor_tenant, credential, action, resource, event, correlation,"
      " details) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  set(add_mac,
      "insert into node_macs (id, node, tenant, mac, position)"
      " values (?, ?, ?, ?, ?) on conflict (id) do nothing");
  // Of those that had it before, the one that has had it longest.
  set(find_shared,
      "insert into shared_macs (id, node, tenant, other, other_tenant, mac)"
      " select o.id, o.node, o.tenant, m.node, m.tenant, m.mac"
      " from node_macs o join node_macs m"
      " on m.mac = o.mac and m.position < o.position where o.id = ?"
      " order by m.position limit 1 on conflict (id) do nothing");
  set(tell_shared,
      "insert into shared_macs (id, node, tenant, other, other_tenant, mac,"
      " told_at) values (?, ?, ?, '', '', ?, ?)"
      " on conflict (id) do update set told_at = excluded.told_at");
  set(forget_macs, "delete from node_macs where id > ? and id < ?");
  set(forget_shared,
      "delete from shared_macs where (other = ?1 and told_at is null)"
      " or (id > ?2 and id < ?3)");
  for (const auto& t : tables) {
    std::string name{t.name}, columns{t.columns}, key{t.key};
    probes.push_back(with_suffix("insert into " + name + " (" + columns +
                                     ") select " + columns + " from " + name +
                                     " where false",
                                 suffix));
    probes.push_back(with_suffix(
        "update " + name + " set " + key + " = " + key + " where false",
        suffix));
  }
}

const statements& live_statements() {
  static const statements set{""};
  return set;
}

const statements& shadow_statements() {
  static const statements set{shadow_suffix};
  return set;
}

}  // namespace bc::projections
