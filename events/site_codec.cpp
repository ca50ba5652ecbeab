#include "events/codec.hpp"
#include "events/directory.hpp"
#include "events/event_names.hpp"
#include "events/name_claim.hpp"

namespace bc::events::site {

namespace {

moves effect(const created& c) {
  return name_taken("site", c.owner.str(), c.name);
}
moves effect(const updated& u) {
  return name_changed("site", u.owner.str(), u.previous_name, u.name);
}
moves effect(const deleted& d) {
  return name_released("site", d.owner.str(), d.name);
}

void put_dedicated_to(json::writer& out, const std::optional<tenant_id>& to) {
  if (to)
    out.field("dedicatedTo", to->str());
}

result<std::optional<tenant_id>> read_dedicated_to(const json::reader& data) {
  if (!data.has("dedicatedTo"))
    return std::nullopt;
  BC_TRY(id, codec::id_of<tenant_id>(data, "dedicatedTo"));
  return std::optional{id};
}

event_write write(const created& c) {
  auto data = codec::object([&](json::writer& out) {
    out.field("siteId", c.id.str())
        .field("tenantId", c.owner.str())
        .field("name", c.name)
        .field("kind", kind_text(c.site_kind));
    put_dedicated_to(out, c.dedicated_to);
    out.field("createdAt", to_rfc3339(c.at));
  });
  return {std::string{name::site_created}, 1, std::move(data), "{}", effect(c)};
}

event_write write(const updated& u) {
  auto data = codec::object([&](json::writer& out) {
    out.field("siteId", u.id.str()).field("name", u.name);
    put_dedicated_to(out, u.dedicated_to);
    out.field("updatedAt", to_rfc3339(u.at));
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("tenantId", u.owner.str()).field("previousName", u.previous_name);
  });
  return {std::string{name::site_updated}, 1, std::move(data),
          std::move(internal), effect(u)};
}

event_write write(const deleted& d) {
  auto data = codec::object([&](json::writer& out) {
    out.field("siteId", d.id.str()).field("deletedAt", to_rfc3339(d.at));
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("tenantId", d.owner.str()).field("name", d.name);
  });
  return {std::string{name::site_deleted}, 1, std::move(data),
          std::move(internal), effect(d)};
}

result<event> read_created(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(owner, codec::id_of<tenant_id>(data, "tenantId"));
  BC_TRY(name, data.text("name"));
  BC_TRY(site_kind, codec::one_of(data, "kind", parse_kind));
  BC_TRY(at, codec::time_of(data, "createdAt"));
  BC_TRY(dedicated_to, read_dedicated_to(data));
  return created{id, owner, name, site_kind, at, dedicated_to};
}

result<event> read_updated(const json::reader& data,
                           const json::reader& internal) {
  BC_TRY(id, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(name, data.text("name"));
  BC_TRY(dedicated_to, read_dedicated_to(data));
  BC_TRY(at, codec::time_of(data, "updatedAt"));
  BC_TRY(owner, codec::id_of<tenant_id>(internal, "tenantId"));
  BC_TRY(previous, internal.text("previousName"));
  return updated{id, name, dedicated_to, at, owner, previous};
}

result<event> read_deleted(const json::reader& data,
                           const json::reader& internal) {
  BC_TRY(id, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(at, codec::time_of(data, "deletedAt"));
  BC_TRY(owner, codec::id_of<tenant_id>(internal, "tenantId"));
  BC_TRY(name, internal.text("name"));
  return deleted{id, at, owner, name};
}

}  // namespace

moves moves_of(const event& e) {
  return std::visit([](const auto& what) { return effect(what); }, e);
}

event_write encode(const event& e) {
  return std::visit([](const auto& what) { return write(what); }, e);
}

result<event> decode(const envelope& e) {
  return codec::decode<event>(e, {{name::site_created, read_created},
                                  {name::site_updated, read_updated},
                                  {name::site_deleted, read_deleted}});
}

}  // namespace bc::events::site
