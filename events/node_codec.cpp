#include "events/node_codec.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"

namespace bc::events::node {

namespace {

using detail::write;

moves released(std::string claim) {
  moves m;
  m.claims.push_back(
      {claim_move::kind::release, std::move(claim), std::nullopt});
  return m;
}

moves effect(const joined& j) {
  return detail::effect(j);
}
moves effect(const renewed& r) {
  return detail::effect(r);
}
moves effect(const inventory_recorded& i) {
  return detail::effect(i);
}
moves effect(const retired& r) {
  moves m;
  if (!r.hardware_key.empty())
    m = released(hardware_claim(r.hardware_key));
  if (!r.ek_hash.empty())
    m.claims.push_back(released(ek_claim(r.ek_hash)).claims.front());
  return m;
}
moves effect(const certificate_revoked& r) {
  return r.answer.empty() ? moves{} : released(r.answer);
}
moves effect(const hardware_shared& h) {
  moves m;
  for (const auto& mac : h.macs)
    m.claims.push_back(
        {claim_move::kind::take, told_claim(h.id, mac), std::nullopt});
  return m;
}
template <class Event>
moves effect(const Event&) {
  return {};
}

template <class Event>
event_write written(std::string_view type, const Event& e, std::string data,
                    std::string internal = "{}") {
  return {std::string{type}, 1, std::move(data), std::move(internal),
          effect(e)};
}

event_write write(const adopted& a) {
  return written(
      name::node_adopted, a, codec::object([&](json::writer& out) {
        out.field("nodeId", a.id.str()).field("adoptedAt", to_rfc3339(a.at));
      }));
}

event_write write(const cordoned& c) {
  return written(name::node_cordoned, c, codec::object([&](json::writer& out) {
                   out.field("nodeId", c.id.str());
                   codec::put_unless_empty(out, "reason", c.reason);
                   out.field("cordonedAt", to_rfc3339(c.at));
                 }));
}

event_write write(const retired& r) {
  return written(name::node_retired, r, codec::object([&](json::writer& out) {
                   out.field("nodeId", r.id.str());
                   codec::put_unless_empty(out, "reason", r.reason);
                   out.field("retiredAt", to_rfc3339(r.at));
                 }),
                 codec::object([&](json::writer& out) {
                   codec::put_unless_empty(out, "hardwareKey", r.hardware_key);
                   codec::put_unless_empty(out, "ekHash", r.ek_hash);
                 }));
}

event_write write(const certificate_revoked& r) {
  return written(name::certificate_revoked, r,
                 codec::object([&](json::writer& out) {
                   out.field("nodeId", r.id.str())
                       .field("certificateSerial", r.serial)
                       .field("identityGeneration", r.generation)
                       .field("reason", revocation_text(r.reason));
                   codec::put_unless_empty(out, "note", r.note);
                   out.field("revokedAt", to_rfc3339(r.at));
                 }),
                 codec::object([&](json::writer& out) {
                   out.field("tenantId", r.tenant.str());
                   codec::put_unless_empty(out, "answer", r.answer);
                 }));
}

event_write write(const clone_suspected& c) {
  return written(name::node_clone_suspected, c,
                 codec::object([&](json::writer& out) {
                   out.field("nodeId", c.id.str());
                   codec::put_unless_empty(out, "hardwareKey", c.hardware_key);
                   out.field("sign", clone_sign_text(c.sign))
                       .field("suspectedAt", to_rfc3339(c.at));
                 }),
                 codec::object([&](json::writer& out) {
                   out.field("tenantId", c.tenant.str());
                 }));
}

event_write write(const hardware_shared& h) {
  return written(
      name::node_hardware_shared, h, codec::object([&](json::writer& out) {
        out.field("nodeId", h.id.str());
        if (h.other)
          out.field("otherNodeId", h.other->str());
        out.field("macSha256", h.macs).field("detectedAt", to_rfc3339(h.at));
      }),
      codec::object(
          [&](json::writer& out) { out.field("tenantId", h.tenant.str()); }));
}

result<event> read_adopted(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(at, codec::time_of(data, "adoptedAt"));
  return adopted{id, at};
}

result<event> read_cordoned(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(reason, data.optional_text("reason"));
  BC_TRY(at, codec::time_of(data, "cordonedAt"));
  return cordoned{id, reason.value_or(""), at};
}

result<event> read_retired(const json::reader& data,
                           const json::reader& internal) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(reason, data.optional_text("reason"));
  BC_TRY(at, codec::time_of(data, "retiredAt"));
  BC_TRY(key, internal.optional_text("hardwareKey"));
  BC_TRY(ek, internal.optional_text("ekHash"));
  return retired{id, reason.value_or(""), at, key.value_or(""),
                 ek.value_or("")};
}

result<event> read_revoked(const json::reader& data,
                           const json::reader& internal) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(serial, data.text("certificateSerial"));
  BC_TRY(generation, data.integer("identityGeneration"));
  BC_TRY(reason, codec::one_of(data, "reason", parse_revocation));
  BC_TRY(note, data.optional_text("note"));
  BC_TRY(at, codec::time_of(data, "revokedAt"));
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  BC_TRY(answer, internal.optional_text("answer"));
  return certificate_revoked{id,     tenant,
                             serial, generation,
                             reason, note.value_or(""),
                             at,     answer.value_or("")};
}

result<event> read_clone(const json::reader& data,
                         const json::reader& internal) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(key, data.optional_text("hardwareKey"));
  auto sign = clone_sign::reclaims;
  if (data.has("sign")) {
    BC_TRY(known, codec::one_of(data, "sign", parse_clone_sign));
    sign = known;
  }
  BC_TRY(at, codec::time_of(data, "suspectedAt"));
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  return clone_suspected{id, tenant, key.value_or(""), at, sign};
}

result<event> read_shared(const json::reader& data,
                          const json::reader& internal) {
  hardware_shared h;
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  h.id = std::move(id);
  if (data.has("otherNodeId")) {
    BC_TRY(other, codec::id_of<node_id>(data, "otherNodeId"));
    h.other = std::move(other);
  }
  BC_TRY(macs, data.texts("macSha256"));
  h.macs = std::move(macs);
  BC_TRY(at, codec::time_of(data, "detectedAt"));
  h.at = at;
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  h.tenant = std::move(tenant);
  return event{std::move(h)};
}

}  // namespace

moves moves_of(const event& e) {
  return std::visit([](const auto& what) { return effect(what); }, e);
}

event_write encode(const event& e) {
  return std::visit([](const auto& what) { return write(what); }, e);
}

result<event> decode(const envelope& e) {
  if (auto of_session = detail::decode_of_session(e))
    return std::move(*of_session);
  return codec::decode<event>(
      e, {{name::node_joined, detail::read_joined},
          {name::certificate_renewed, detail::read_renewed},
          {name::node_adopted, read_adopted},
          {name::node_cordoned, read_cordoned},
          {name::node_retired, read_retired},
          {name::certificate_revoked, read_revoked},
          {name::node_clone_suspected, read_clone},
          {name::node_hardware_shared, read_shared},
          {name::node_inventory_recorded, detail::read_inventory}});
}

}  // namespace bc::events::node
