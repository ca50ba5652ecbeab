#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/node_codec.hpp"

namespace bc::events::node::detail {

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
        .field("hardwareTaken", i.hardware_taken)
        .field("recordedAt", to_rfc3339(i.at));
  });
  auto internal = codec::object([&](json::writer& out) {
    codec::put_unless_empty(out, "newlyHeld", i.newly_held);
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
  return inventory_recorded{id, key.value_or(""), trusted, changed, taken,
                            at, held.value_or("")};
}

}  // namespace bc::events::node::detail
