#include "events/directory.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/name_claim.hpp"

// Tenants; sites and pools have files of their own.
namespace bc::events::tenant {

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

}  // namespace bc::events::tenant
