#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/node_codec.hpp"

// Sessions, acceptance and the warning before a certificate's end.
namespace bc::events::node::detail {

namespace {

event_write written(std::string_view type, std::string data) {
  return {std::string{type}, 1, std::move(data), "{}", {}};
}

result<event> read_connected(const json::reader& data, const json::reader&) {
  connected c;
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  c.id = std::move(id);
  BC_TRY(session, data.text("sessionId"));
  c.session = std::move(session);
  BC_TRY(gateway, data.text("gatewayId"));
  c.gateway = std::move(gateway);
  BC_TRY(address, data.text("address"));
  c.address = std::move(address);
  BC_TRY(version, data.text("version"));
  c.version = std::move(version);
  BC_TRY(serial, data.text("certificateSerial"));
  c.serial = std::move(serial);
  BC_TRY(before, data.optional_text("supersedes"));
  c.supersedes = before.value_or("");
  BC_TRY(at, codec::time_of(data, "connectedAt"));
  c.at = at;
  return event{std::move(c)};
}

result<event> read_disconnected(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(session, data.text("sessionId"));
  BC_TRY(reason, codec::one_of(data, "reason", parse_session_end));
  BC_TRY(at, codec::time_of(data, "disconnectedAt"));
  return disconnected{id, session, reason, at};
}

result<event> read_started(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(at, codec::time_of(data, "startedAt"));
  return acceptance_started{id, at};
}

result<event> read_failed(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(checks, data.texts("checks"));
  BC_TRY(at, codec::time_of(data, "failedAt"));
  return acceptance_failed{id, checks, at};
}

result<event> read_expiring(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(serial, data.text("certificateSerial"));
  BC_TRY(generation, data.integer("identityGeneration"));
  BC_TRY(not_after, codec::time_of(data, "notAfter"));
  BC_TRY(is_connected, data.boolean("connected"));
  BC_TRY(at, codec::time_of(data, "warnedAt"));
  return certificate_expiring{id,        serial,       generation,
                              not_after, is_connected, at};
}

}  // namespace

event_write write(const connected& c) {
  return written(name::node_connected, codec::object([&](json::writer& out) {
                   out.field("nodeId", c.id.str())
                       .field("sessionId", c.session)
                       .field("gatewayId", c.gateway)
                       .field("address", c.address)
                       .field("version", c.version)
                       .field("certificateSerial", c.serial);
                   codec::put_unless_empty(out, "supersedes", c.supersedes);
                   out.field("connectedAt", to_rfc3339(c.at));
                 }));
}

event_write write(const disconnected& d) {
  return written(name::node_disconnected, codec::object([&](json::writer& out) {
                   out.field("nodeId", d.id.str())
                       .field("sessionId", d.session)
                       .field("reason", session_end_text(d.reason))
                       .field("disconnectedAt", to_rfc3339(d.at));
                 }));
}

event_write write(const acceptance_started& a) {
  return written(
      name::node_acceptance_started, codec::object([&](json::writer& out) {
        out.field("nodeId", a.id.str()).field("startedAt", to_rfc3339(a.at));
      }));
}

event_write write(const acceptance_failed& a) {
  return written(name::node_acceptance_failed,
                 codec::object([&](json::writer& out) {
                   out.field("nodeId", a.id.str())
                       .field("checks", a.checks)
                       .field("failedAt", to_rfc3339(a.at));
                 }));
}

event_write write(const certificate_expiring& c) {
  return written(name::certificate_expiring,
                 codec::object([&](json::writer& out) {
                   out.field("nodeId", c.id.str())
                       .field("certificateSerial", c.serial)
                       .field("identityGeneration", c.generation)
                       .field("notAfter", to_rfc3339(c.not_after))
                       .field("connected", c.connected)
                       .field("warnedAt", to_rfc3339(c.at));
                 }));
}

std::optional<result<event>> decode_of_session(const envelope& e) {
  if (codec::is(e, name::node_connected))
    return codec::read_event(e, read_connected);
  if (codec::is(e, name::node_disconnected))
    return codec::read_event(e, read_disconnected);
  if (codec::is(e, name::node_acceptance_started))
    return codec::read_event(e, read_started);
  if (codec::is(e, name::node_acceptance_failed))
    return codec::read_event(e, read_failed);
  if (codec::is(e, name::certificate_expiring))
    return codec::read_event(e, read_expiring);
  return std::nullopt;
}

}  // namespace bc::events::node::detail
