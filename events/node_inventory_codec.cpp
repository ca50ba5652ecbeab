#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/node_codec.hpp"

namespace bc::events::node::detail {

using pki::identifier_hash;

void put_identifiers(json::writer& out,
                     const std::vector<identifier_hash>& all) {
  if (all.empty())
    return;
  out.key("identifiers").begin_array();
  for (const auto& one : all)
    out.begin_object()
        .field("kind", one.kind)
        .field("sha256", one.sha256)
        .end_object();
  out.end_array();
}

result<std::vector<identifier_hash>> read_identifiers(const json::reader& in) {
  std::vector<identifier_hash> out;
  if (!in.has("identifiers"))
    return out;
  const auto& all = in.raw()["identifiers"];
  if (!all.IsArray())
    return fail(errc::internal, "The identifiers are no array");
  for (const auto& item : all.GetArray()) {
    if (!item.IsObject())
      return fail(errc::internal, "An identifier is no object");
    BC_TRY(kind, json::reader{item}.text("kind"));
    BC_TRY(hash, json::reader{item}.text("sha256"));
    out.push_back({std::move(kind), std::move(hash)});
  }
  return out;
}

moves effect(const inventory_recorded& i) {
  moves m;
  if (!i.newly_held.empty())
    m.claims.push_back(take(hardware_claim(i.newly_held), std::nullopt));
  return m;
}

event_write write(const inventory_recorded& i) {
  auto data = codec::object([&](json::writer& out) {
    out.field("nodeId", i.id.str());
    codec::put_unless_empty(out, "hardwareKey", i.hardware_key);
    out.field("hardwareKeyTrusted", i.hardware_key_trusted)
        .field("hardwareChanged", i.hardware_changed)
        .field("hardwareTaken", i.hardware_taken);
    if (!i.changed_identifiers.empty())
      out.field("changedIdentifiers", i.changed_identifiers);
    out.field("recordedAt", to_rfc3339(i.at));
  });
  auto internal = codec::object([&](json::writer& out) {
    codec::put_unless_empty(out, "newlyHeld", i.newly_held);
    put_identifiers(out, i.identifiers);
  });
  return {std::string{name::node_inventory_recorded}, 1, std::move(data),
          std::move(internal), effect(i)};
}

result<event> read_inventory(const json::reader& data,
                             const json::reader& internal) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(key, data.optional_text("hardwareKey"));
  BC_TRY(trusted, data.boolean("hardwareKeyTrusted"));
  BC_TRY(changed, data.boolean("hardwareChanged"));
  BC_TRY(taken, data.boolean("hardwareTaken"));
  BC_TRY(at, codec::time_of(data, "recordedAt"));
  BC_TRY(held, internal.optional_text("newlyHeld"));
  BC_TRY(kinds, data.texts_or_none("changedIdentifiers"));
  BC_TRY(all, read_identifiers(internal));
  return inventory_recorded{
      id, key.value_or(""),  trusted,          changed,       taken,
      at, held.value_or(""), std::move(kinds), std::move(all)};
}

}  // namespace bc::events::node::detail
