#include "actors/api/records.hpp"

#include "base/clock.hpp"
#include "pki/hardware_text.hpp"

namespace bc::actors::api {

namespace {

std::optional<std::string> text_of(const std::optional<time_point>& t) {
  if (!t)
    return std::nullopt;
  return to_rfc3339(*t);
}

void put_expect(json::writer& out, const pki::hardware_expectation& expect) {
  if (expect.empty())
    return;
  out.key("expect").begin_object();
  out.field("productUuid", expect.product_uuid)
      .field("serial", expect.serial)
      .field("mac", expect.mac);
  if (expect.gpu_uuid)
    out.field("gpuUuid", pki::gpu_text(*expect.gpu_uuid));
  out.end_object();
}

void put_unless_empty(json::writer& out, std::string_view name,
                      const std::string& text) {
  if (!text.empty())
    out.field(name, text);
}

}  // namespace

projections::tenant_row row_of(const events::tenant::created& c) {
  return {c.id.str(), c.name, c.root, c.at};
}

projections::site_row row_of(const events::site::state& s) {
  const auto& c = *s.site;
  return {c.id.str(),  c.owner.str(),
          c.name,      std::string{events::site::kind_text(c.site_kind)},
          c.at,        text_of(c.dedicated_to),
          s.deleted_at};
}

projections::pool_row row_of(const events::pool::state& s) {
  const auto& c = *s.pool;
  json::writer rules;
  put(rules, c.rules);
  return {c.id.str(),
          c.tenant.str(),
          c.site.str(),
          c.name,
          std::string{events::pool::agent_text(c.pool_agent)},
          c.at,
          rules.str(),
          s.archived_at};
}

projections::join_token_row row_of(const events::join_token::state& s) {
  const auto& t = *s.token;
  projections::join_token_row row;
  row.id = t.id.str();
  row.tenant = t.tenant.str();
  row.pool = text_of(t.pool).value_or("");
  row.site = t.site.str();
  row.role = std::string{events::join_token::role_text(t.token_role)};
  row.max_uses = t.max_uses;
  row.uses_left = s.uses_left;
  row.expect = t.expect;
  row.allow_reclaim = t.allow_reclaim;
  row.hosted = t.hosted;
  row.created_at = t.created_at;
  row.expires_at = t.expires_at;
  row.revoked_at = s.revoked_at;
  row.node = text_of(t.node);
  return row;
}

projections::credential_row row_of(const events::credential::state& s) {
  const auto& c = *s.credential;
  json::writer grants;
  events::credential::put_grants(grants, c.grants);
  return {c.id.str(),   c.tenant.str(), c.principal,
          grants.str(), c.at,           s.revoked_at};
}

void put(json::writer& out, const projections::tenant_row& row) {
  out.field("id", row.id)
      .field("name", row.name)
      .field("root", row.root)
      .field("createdAt", to_rfc3339(row.created_at));
}

void put(json::writer& out, const projections::site_row& row) {
  out.field("id", row.id)
      .field("tenantId", row.owner)
      .field("name", row.name)
      .field("kind", row.kind)
      .field("dedicatedTo", row.dedicated_to)
      .field("createdAt", to_rfc3339(row.created_at))
      .field("deletedAt", text_of(row.deleted_at));
}

void put(json::writer& out, const projections::pool_row& row) {
  out.field("id", row.id)
      .field("tenantId", row.tenant)
      .field("siteId", row.site)
      .field("name", row.name)
      .field("agent", row.agent);
  out.key("policy").raw(row.policy);
  out.field("createdAt", to_rfc3339(row.created_at))
      .field("archivedAt", text_of(row.archived_at));
}

void put(json::writer& out, const projections::join_token_row& row) {
  out.field("id", row.id).field("tenantId", row.tenant);
  put_unless_empty(out, "poolId", row.pool);
  out.field("siteId", row.site)
      .field("role", row.role)
      .field("maxUses", row.max_uses)
      .field("usesLeft", row.uses_left);
  put_expect(out, row.expect);
  out.field("allowReclaim", row.allow_reclaim)
      .field("hosted", row.hosted)
      .field("nodeId", row.node)
      .field("createdAt", to_rfc3339(row.created_at))
      .field("expiresAt", to_rfc3339(row.expires_at))
      .field("revokedAt", text_of(row.revoked_at));
}

void put(json::writer& out, const projections::credential_row& row) {
  out.field("id", row.id)
      .field("tenantId", row.tenant)
      .field("principal", row.principal);
  out.key("grants").raw(row.grants);
  out.field("createdAt", to_rfc3339(row.created_at))
      .field("revokedAt", text_of(row.revoked_at));
}

void put(json::writer& out, const projections::audit_row& row) {
  out.field("id", row.id)
      .field("position", row.position)
      .field("tenantId", row.tenant)
      .field("time", to_rfc3339(row.at))
      .field("principal", row.principal)
      .field("actorTenantId", row.actor_tenant)
      .field("credentialId", row.credential)
      .field("action", row.action)
      .field("resource", row.resource)
      .field("event", row.event);
  put_unless_empty(out, "correlation", row.correlation);
  out.key("details").raw(row.details);
}

void put_identifiers(json::writer& out, const json::value& stored) {
  auto text_of = [](const json::value& v) {
    return std::string_view{v.GetString(), v.GetStringLength()};
  };
  out.begin_object();
  for (const auto& [name, value] : stored.GetObject()) {
    out.key(text_of(name));
    if (text_of(name) != "gpuUuids" || !value.IsArray()) {
      out.raw_value(value);
      continue;
    }
    out.begin_array();
    for (const auto& gpu : value.GetArray())
      if (gpu.IsString())
        out.text(pki::gpu_text(text_of(gpu)));
    out.end_array();
  }
  out.end_object();
}

result<paging> read_paging(const json::reader& in) {
  BC_TRY(limit, in.optional_integer("limit"));
  BC_TRY(after, in.optional_text("cursor"));
  paging p;
  p.limit = static_cast<int>(limit.value_or(100));
  p.after = after.value_or("");
  return p;
}

}  // namespace bc::actors::api
