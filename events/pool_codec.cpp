#include "events/codec.hpp"
#include "events/directory.hpp"
#include "events/event_names.hpp"
#include "events/name_claim.hpp"

namespace bc::events::pool {

namespace {

moves effect(const created& c) {
  return name_taken("pool", c.tenant.str(), c.name);
}
moves effect(const updated& u) {
  return name_changed("pool", u.tenant.str(), u.previous_name, u.name);
}
moves effect(const archived& a) {
  return name_released("pool", a.tenant.str(), a.name);
}

// Pools had no policy once: an event without one asks nothing.
result<policy> policy_of(const json::reader& data) {
  if (!data.has("policy"))
    return policy{};
  BC_TRY(object, data.object("policy"));
  return read_policy(object);
}

event_write write(const created& c) {
  auto data = codec::object([&](json::writer& out) {
    out.field("poolId", c.id.str())
        .field("tenantId", c.tenant.str())
        .field("siteId", c.site.str())
        .field("name", c.name)
        .field("agent", agent_text(c.pool_agent));
    put(out.key("policy"), c.rules);
    out.field("createdAt", to_rfc3339(c.at));
  });
  return {std::string{name::pool_created}, 1, std::move(data), "{}", effect(c)};
}

event_write write(const updated& u) {
  auto data = codec::object([&](json::writer& out) {
    out.field("poolId", u.id.str())
        .field("name", u.name)
        .field("agent", agent_text(u.pool_agent));
    put(out.key("policy"), u.rules);
    out.field("updatedAt", to_rfc3339(u.at));
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("tenantId", u.tenant.str())
        .field("previousName", u.previous_name);
  });
  return {std::string{name::pool_updated}, 1, std::move(data),
          std::move(internal), effect(u)};
}

event_write write(const archived& a) {
  auto data = codec::object([&](json::writer& out) {
    out.field("poolId", a.id.str()).field("archivedAt", to_rfc3339(a.at));
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("tenantId", a.tenant.str()).field("name", a.name);
  });
  return {std::string{name::pool_archived}, 1, std::move(data),
          std::move(internal), effect(a)};
}

result<event> read_created(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<pool_id>(data, "poolId"));
  BC_TRY(tenant, codec::id_of<tenant_id>(data, "tenantId"));
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(name, data.text("name"));
  BC_TRY(pool_agent, codec::one_of(data, "agent", parse_agent));
  BC_TRY(at, codec::time_of(data, "createdAt"));
  BC_TRY(rules, policy_of(data));
  return created{id, tenant, site, name, pool_agent, at, rules};
}

result<event> read_updated(const json::reader& data,
                           const json::reader& internal) {
  BC_TRY(id, codec::id_of<pool_id>(data, "poolId"));
  BC_TRY(name, data.text("name"));
  BC_TRY(pool_agent, codec::one_of(data, "agent", parse_agent));
  BC_TRY(rules, policy_of(data));
  BC_TRY(at, codec::time_of(data, "updatedAt"));
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  BC_TRY(previous, internal.text("previousName"));
  return updated{id, name, pool_agent, rules, at, tenant, previous};
}

result<event> read_archived(const json::reader& data,
                            const json::reader& internal) {
  BC_TRY(id, codec::id_of<pool_id>(data, "poolId"));
  BC_TRY(at, codec::time_of(data, "archivedAt"));
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  BC_TRY(name, internal.text("name"));
  return archived{id, at, tenant, name};
}

}  // namespace

moves moves_of(const event& e) {
  return std::visit([](const auto& what) { return effect(what); }, e);
}

event_write encode(const event& e) {
  return std::visit([](const auto& what) { return write(what); }, e);
}

result<event> decode(const envelope& e) {
  return codec::decode<event>(e, {{name::pool_created, read_created},
                                  {name::pool_updated, read_updated},
                                  {name::pool_archived, read_archived}});
}

}  // namespace bc::events::pool
