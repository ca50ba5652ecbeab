#include "projections/tables.hpp"

#include "schema/embedded.hpp"

namespace bc::projections {

namespace {

constexpr std::string_view indexes[] = {
    "sites_by_owner",        "sites_shared",        "pools_by_tenant",
    "join_tokens_live",      "join_tokens_by_pool", "join_tokens_by_expiry",
    "nodes_by_tenant",       "nodes_by_pool",       "node_certs_by_node",
    "credentials_by_tenant",
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

std::string_view migration(sql::dialect d) {
  return schema::text_of(d == sql::dialect::sqlite
                             ? "sql/0100_create_read_models.sql"
                             : "postgres/0100_create_read_models.sql");
}

// The migration's statements that are, or are not, the checkpoint's.
std::string part_of(sql::dialect d, bool of_checkpoint) {
  std::string out;
  auto left = migration(d);
  while (!left.empty()) {
    auto end = left.find(';');
    auto size = end == std::string_view::npos ? left.size() : end + 1;
    auto one = left.substr(0, size);
    left.remove_prefix(size);
    bool is = one.find("projection_checkpoint") != std::string_view::npos;
    if (is == of_checkpoint)
      out += one;
  }
  return out;
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
  return with_suffix(part_of(d, false), suffix);
}

std::string checkpoint_script(sql::dialect d) {
  return part_of(d, true);
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
    return out + creation_script(d, "");
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
      "insert into sites (id, owner, name, kind, created_at)"
      " values (?, ?, ?, ?, ?)");
  set(add_pool,
      "insert into pools (id, tenant, site, name, agent, created_at)"
      " values (?, ?, ?, ?, ?, ?)");
  set(add_token,
      "insert into join_tokens (id, tenant, pool, site, role, max_uses,"
      " uses_left, expect_product_uuid, expect_serial, expect_mac,"
      " expect_gpu_uuid, allow_reclaim, hosted, created_at, expires_at)"
      " values (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
      " ?14)");
  set(spend_token,
      "update join_tokens set uses_left = uses_left - 1"
      " where id = ? and uses_left > 0");
  set(revoke_token, "update join_tokens set revoked_at = ? where id = ?");
  // A few for each event: a crowd that expires at once must not make one
  // append slow, and no event adds more than one.
  set(lapse_tokens,
      "update join_tokens set lapsed = 1 where id in (select id from"
      " join_tokens where lapsed = 0 and expires_at <= ?"
      " order by expires_at, id limit 16)");
  set(next_expiry, "select min(expires_at) from join_tokens where lapsed = 0");
  set(put_node,
      "insert into nodes (id, tenant, site, pool, status, attestor,"
      " hardware_key, hardware_key_trusted, hostname, node_key, role,"
      " generation, joined_at, certificate)"
      " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
      " on conflict (id) do update set tenant = excluded.tenant,"
      " site = excluded.site, pool = excluded.pool,"
      " status = excluded.status, attestor = excluded.attestor,"
      " hardware_key = excluded.hardware_key,"
      " hardware_key_trusted = excluded.hardware_key_trusted,"
      " hostname = excluded.hostname, node_key = excluded.node_key,"
      " role = excluded.role, generation = excluded.generation,"
      " joined_at = excluded.joined_at, adopted_at = null,"
      " certificate = excluded.certificate");
  set(adopt_node, "update nodes set status = ?, adopted_at = ? where id = ?");
  set(add_certificate,
      "insert into node_certs (serial, node, role, generation, spki_sha256,"
      " not_before, not_after, der) values (?, ?, ?, ?, ?, ?, ?, ?)");
  set(revoke_older_certificates,
      "update node_certs set revoked_at = ?"
      " where node = ? and generation < ? and revoked_at is null");
  set(add_credential,
      "insert into credentials (id, tenant, principal, grants, created_at)"
      " values (?, ?, ?, ?, ?)");
  set(revoke_credential, "update credentials set revoked_at = ? where id = ?");
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
