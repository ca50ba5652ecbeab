#include "events/codec.hpp"
#include "events/command.hpp"
#include "events/event_names.hpp"

namespace bc::events::command {

namespace {

event_write written(std::string_view type, std::string data,
                    std::string internal) {
  return {std::string{type}, 1, std::move(data), std::move(internal), {}};
}

event_write write(const enqueued& e) {
  return written(name::command_enqueued, codec::object([&](json::writer& out) {
                   out.field("commandId", e.id.str())
                       .field("nodeId", e.node.str())
                       .field("kind", e.kind)
                       .field("enqueuedAt", to_rfc3339(e.at))
                       .field("expiresAt", to_rfc3339(e.expires_at));
                 }),
                 codec::object([&](json::writer& out) {
                   out.field("tenantId", e.tenant.str())
                       .field("payload", e.payload)
                       .field("nodeVersion", e.node_version);
                 }));
}

event_write write(const completed& c) {
  return written(
      name::command_completed, codec::object([&](json::writer& out) {
        out.field("commandId", c.id.str())
            .field("nodeId", c.node.str())
            .field("succeeded", c.succeeded)
            .field("completedAt", to_rfc3339(c.at));
      }),
      codec::object([&](json::writer& out) { out.field("output", c.output); }));
}

result<event> read_enqueued(const json::reader& data,
                            const json::reader& internal) {
  BC_TRY(id, codec::id_of<command_id>(data, "commandId"));
  BC_TRY(node, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(kind, data.text("kind"));
  BC_TRY(at, codec::time_of(data, "enqueuedAt"));
  BC_TRY(expires, codec::time_of(data, "expiresAt"));
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  BC_TRY(payload, internal.text("payload"));
  BC_TRY(version, internal.optional_integer("nodeVersion"));
  enqueued out{id, node, tenant, kind, payload, at, expires};
  if (version)
    out.node_version = static_cast<std::uint64_t>(*version);
  return out;
}

result<event> read_completed(const json::reader& data,
                             const json::reader& internal) {
  BC_TRY(id, codec::id_of<command_id>(data, "commandId"));
  BC_TRY(node, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(succeeded, data.boolean("succeeded"));
  BC_TRY(at, codec::time_of(data, "completedAt"));
  BC_TRY(output, internal.text("output"));
  return completed{id, node, succeeded, output, at};
}

}  // namespace

event_write encode(const event& e) {
  return std::visit([](const auto& what) { return write(what); }, e);
}

result<event> decode(const envelope& e) {
  return codec::decode<event>(e, {{name::command_enqueued, read_enqueued},
                                  {name::command_completed, read_completed}});
}

}  // namespace bc::events::command
