#include "events/directory.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"

namespace bc::events {

namespace {

moves name_taken(std::string_view kind, std::string_view owner,
                 std::string_view name) {
  std::string claim{"name:"};
  claim.append(kind).append(":").append(owner).append(":").append(name);
  moves m;
  m.claims.push_back({claim_move::kind::take, std::move(claim), std::nullopt});
  return m;
}

}  // namespace

namespace tenant {

state evolve(state s, const event& e) {
  ++s.version;
  if (!s.tenant)
    s.tenant = std::get<created>(e);
  return s;
}

moves moves_of(const event& e) {
  return name_taken("tenant", "", std::get<created>(e).name);
}

event_write encode(const event& e) {
  const auto& c = std::get<created>(e);
  auto data = codec::object([&](json::writer& out) {
    out.field("tenantId", c.id.str())
        .field("name", c.name)
        .field("root", c.root)
        .field("createdAt", to_rfc3339(c.at));
  });
  return {std::string{name::tenant_created}, 1, std::move(data), "{}",
          moves_of(e)};
}

result<event> decode(const envelope& e) {
  if (!codec::is(e, name::tenant_created))
    return codec::unknown_event(e);
  return codec::read_event(
      e, [](const json::reader& data, const json::reader&) -> result<event> {
        BC_TRY(id, codec::id_of<tenant_id>(data, "tenantId"));
        BC_TRY(name, data.text("name"));
        BC_TRY(root, data.boolean("root"));
        BC_TRY(at, codec::time_of(data, "createdAt"));
        return created{id, name, root, at};
      });
}

}  // namespace tenant

namespace site {

std::string_view kind_text(kind k) noexcept {
  switch (k) {
    case kind::shared:
      return "shared";
    case kind::dedicated:
      return "dedicated";
    case kind::custom:
      return "custom";
  }
  return {};
}

std::optional<kind> parse_kind(std::string_view text) noexcept {
  for (auto k : {kind::shared, kind::dedicated, kind::custom})
    if (kind_text(k) == text)
      return k;
  return std::nullopt;
}

state evolve(state s, const event& e) {
  ++s.version;
  if (!s.site)
    s.site = std::get<created>(e);
  return s;
}

moves moves_of(const event& e) {
  const auto& c = std::get<created>(e);
  return name_taken("site", c.owner.str(), c.name);
}

event_write encode(const event& e) {
  const auto& c = std::get<created>(e);
  auto data = codec::object([&](json::writer& out) {
    out.field("siteId", c.id.str())
        .field("tenantId", c.owner.str())
        .field("name", c.name)
        .field("kind", kind_text(c.site_kind))
        .field("createdAt", to_rfc3339(c.at));
  });
  return {std::string{name::site_created}, 1, std::move(data), "{}",
          moves_of(e)};
}

result<event> decode(const envelope& e) {
  if (!codec::is(e, name::site_created))
    return codec::unknown_event(e);
  return codec::read_event(
      e, [](const json::reader& data, const json::reader&) -> result<event> {
        BC_TRY(id, codec::id_of<site_id>(data, "siteId"));
        BC_TRY(owner, codec::id_of<tenant_id>(data, "tenantId"));
        BC_TRY(name, data.text("name"));
        BC_TRY(site_kind, codec::one_of(data, "kind", parse_kind));
        BC_TRY(at, codec::time_of(data, "createdAt"));
        return created{id, owner, name, site_kind, at};
      });
}

}  // namespace site

namespace pool {

namespace {

std::optional<agent> parse_agent(std::string_view text) noexcept {
  for (auto a : {agent::bcd, agent::none})
    if (agent_text(a) == text)
      return a;
  return std::nullopt;
}

}  // namespace

std::string_view agent_text(agent a) noexcept {
  switch (a) {
    case agent::bcd:
      return "bcd";
    case agent::none:
      return "none";
  }
  return {};
}

state evolve(state s, const event& e) {
  ++s.version;
  if (!s.pool)
    s.pool = std::get<created>(e);
  return s;
}

moves moves_of(const event& e) {
  const auto& c = std::get<created>(e);
  return name_taken("pool", c.tenant.str(), c.name);
}

event_write encode(const event& e) {
  const auto& c = std::get<created>(e);
  auto data = codec::object([&](json::writer& out) {
    out.field("poolId", c.id.str())
        .field("tenantId", c.tenant.str())
        .field("siteId", c.site.str())
        .field("name", c.name)
        .field("agent", agent_text(c.pool_agent))
        .field("createdAt", to_rfc3339(c.at));
  });
  return {std::string{name::pool_created}, 1, std::move(data), "{}",
          moves_of(e)};
}

result<event> decode(const envelope& e) {
  if (!codec::is(e, name::pool_created))
    return codec::unknown_event(e);
  return codec::read_event(
      e, [](const json::reader& data, const json::reader&) -> result<event> {
        BC_TRY(id, codec::id_of<pool_id>(data, "poolId"));
        BC_TRY(tenant, codec::id_of<tenant_id>(data, "tenantId"));
        BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
        BC_TRY(name, data.text("name"));
        BC_TRY(pool_agent, codec::one_of(data, "agent", parse_agent));
        BC_TRY(at, codec::time_of(data, "createdAt"));
        return created{id, tenant, site, name, pool_agent, at};
      });
}

}  // namespace pool

}  // namespace bc::events
