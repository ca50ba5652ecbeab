#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/join_request.hpp"
#include "events/streams.hpp"

namespace bc::events::join_request {

namespace {

void put(json::writer& out, const tpm_identity& t) {
  out.key("tpm").begin_object();
  out.field("ekHash", t.ek_hash).field("ekCert", ek_text(t.certificate));
  codec::put_unless_empty(out, "ekManufacturer", t.manufacturer);
  codec::put_unless_empty(out, "ekModel", t.model);
  out.end_object();
}

void put(json::writer& out, const vouched& v) {
  out.key("vouch").begin_object();
  out.field("mac", v.mac)
      .field("ip", v.ip)
      .field("vouchedBy", v.by.str())
      .field("bootLeaseEpoch", v.boot_lease_epoch)
      .field("workflowId", v.workflow);
  out.end_object();
}

// The hashes; what else was seen is internal.
void put_hashes(json::writer& data, const sighting& s) {
  data.field("csrSha256", s.csr_sha256);
  codec::put_unless_empty(data, "hardwareKey", s.hardware_key);
  data.field("hardwareKeyTrusted", s.trusted);
}

void put_seen(json::writer& internal, const std::string& subject,
              const sighting& s, const std::optional<std::int64_t>& place) {
  internal.field("subject", subject).field("place", place);
  internal.key("claims").raw(text_of(s.machine));
  if (s.tpm)
    put(internal, *s.tpm);
  if (s.vouch)
    put(internal, *s.vouch);
}

// Without what it moves.
event_write written(std::string_view type, std::string data,
                    std::string internal) {
  return {std::string{type}, 1, std::move(data), std::move(internal), {}};
}

event_write write(const opened& o) {
  auto data = codec::object([&](json::writer& out) {
    out.field("requestId", o.id.str())
        .field("siteId", o.site.str())
        .field("poolId", text_of(o.pool))
        .field("attestor", o.attestor);
    put_hashes(out, o.seen);
    out.field("createdAt", to_rfc3339(o.at))
        .field("expiresAt", to_rfc3339(o.expires_at));
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("tenantId", o.tenant.str());
    put_seen(out, o.subject, o.seen, o.place);
  });
  return written(name::join_request_opened, std::move(data),
                 std::move(internal));
}

event_write write(const refreshed& r) {
  auto data = codec::object([&](json::writer& out) {
    out.field("requestId", r.id.str()).field("siteId", r.site.str());
    put_hashes(out, r.seen);
    out.field("refreshedAt", to_rfc3339(r.at))
        .field("expiresAt", to_rfc3339(r.expires_at));
  });
  auto internal = codec::object(
      [&](json::writer& out) { put_seen(out, r.subject, r.seen, r.place); });
  return written(name::join_request_refreshed, std::move(data),
                 std::move(internal));
}

template <class Decision>
std::string data_of(const Decision& d, std::string_view when,
                    std::optional<std::string> expires_at) {
  return codec::object([&](json::writer& out) {
    out.field("requestId", d.id.str())
        .field("poolId", d.pool.str())
        .field("siteId", d.site.str())
        .field("attestor", d.attestor)
        .field("csrSha256", d.csr_sha256)
        .field("expiresAt", expires_at);
    codec::put_unless_empty(out, "reason", d.reason);
    out.field(when, to_rfc3339(d.at));
  });
}

template <class Decision>
std::string internal_of(const Decision& d) {
  return codec::object([&](json::writer& out) {
    out.field("subject", d.subject)
        .field("place", d.place)
        .field("decidedBy", d.by);
  });
}

event_write write(const approved& a) {
  return written(name::join_request_approved,
                 data_of(a, "approvedAt", to_rfc3339(a.expires_at)),
                 internal_of(a));
}

event_write write(const rejected& r) {
  return written(name::join_request_rejected,
                 data_of(r, "rejectedAt", std::nullopt), internal_of(r));
}

event_write write(const consumed& c) {
  auto data = codec::object([&](json::writer& out) {
    out.field("requestId", c.id.str())
        .field("siteId", c.site.str())
        .field("nodeId", c.node.str())
        .field("csrSha256", c.csr_sha256)
        .field("consumedAt", to_rfc3339(c.at));
  });
  auto internal = codec::object(
      [&](json::writer& out) { out.field("subject", c.subject); });
  return written(name::join_request_consumed, std::move(data),
                 std::move(internal));
}

event_write write(const superseded& s) {
  auto data = codec::object([&](json::writer& out) {
    out.field("requestId", s.id.str())
        .field("siteId", s.site.str())
        .field("nodeId", text_of(s.node))
        .field("csrSha256", s.csr_sha256)
        .field("supersededAt", to_rfc3339(s.at));
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("subject", s.subject)
        .field("wasApproved", s.was_approved)
        .field("place", s.place);
  });
  return written(name::join_request_superseded, std::move(data),
                 std::move(internal));
}

result<claims> read_claims(const json::reader& internal) {
  BC_TRY(from, internal.object("claims"));
  claims c;
  BC_TRY(uuid, from.optional_text("productUuid"));
  c.product_uuid = std::move(uuid);
  BC_TRY(serials, from.texts("serials"));
  c.serials = std::move(serials);
  BC_TRY(macs, from.texts("macs"));
  c.macs = std::move(macs);
  BC_TRY(gpus, from.texts("gpuUuids"));
  c.gpu_uuids = std::move(gpus);
  BC_TRY(hostname, from.optional_text("hostname"));
  c.hostname = hostname.value_or("");
  return c;
}

result<std::optional<tpm_identity>> read_tpm(const json::reader& internal) {
  if (!internal.has("tpm"))
    return std::nullopt;
  BC_TRY(from, internal.object("tpm"));
  BC_TRY(hash, from.text("ekHash"));
  BC_TRY(certificate, codec::one_of(from, "ekCert", parse_ek));
  BC_TRY(manufacturer, from.optional_text("ekManufacturer"));
  BC_TRY(model, from.optional_text("ekModel"));
  return tpm_identity{hash, certificate, manufacturer.value_or(""),
                      model.value_or("")};
}

result<std::optional<vouched>> read_vouch(const json::reader& internal) {
  if (!internal.has("vouch"))
    return std::nullopt;
  BC_TRY(from, internal.object("vouch"));
  BC_TRY(mac, from.text("mac"));
  BC_TRY(ip, from.text("ip"));
  BC_TRY(by, codec::id_of<node_id>(from, "vouchedBy"));
  BC_TRY(epoch, from.integer("bootLeaseEpoch"));
  BC_TRY(workflow, from.optional_text("workflowId"));
  return vouched{mac, ip, by, epoch, workflow};
}

result<sighting> read_seen(const json::reader& data,
                           const json::reader& internal) {
  sighting s;
  BC_TRY(csr, data.text("csrSha256"));
  s.csr_sha256 = std::move(csr);
  BC_TRY(key, data.optional_text("hardwareKey"));
  s.hardware_key = key.value_or("");
  BC_TRY(trusted, data.boolean("hardwareKeyTrusted"));
  s.trusted = trusted;
  BC_TRY(machine, read_claims(internal));
  s.machine = std::move(machine);
  BC_TRY(tpm, read_tpm(internal));
  s.tpm = std::move(tpm);
  BC_TRY(vouch, read_vouch(internal));
  s.vouch = std::move(vouch);
  return s;
}

result<event> read_opened(const json::reader& data,
                          const json::reader& internal) {
  opened o;
  BC_TRY(id, codec::id_of<join_request_id>(data, "requestId"));
  o.id = std::move(id);
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  o.tenant = std::move(tenant);
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  o.site = std::move(site);
  if (data.has("poolId")) {
    BC_TRY(pool, codec::id_of<pool_id>(data, "poolId"));
    o.pool = std::move(pool);
  }
  BC_TRY(attestor, data.text("attestor"));
  o.attestor = std::move(attestor);
  BC_TRY(subject, internal.text("subject"));
  o.subject = std::move(subject);
  BC_TRY(seen, read_seen(data, internal));
  o.seen = std::move(seen);
  BC_TRY(place, internal.optional_integer("place"));
  o.place = place;
  BC_TRY(at, codec::time_of(data, "createdAt"));
  o.at = at;
  BC_TRY(expires_at, codec::time_of(data, "expiresAt"));
  o.expires_at = expires_at;
  return event{std::move(o)};
}

result<event> read_refreshed(const json::reader& data,
                             const json::reader& internal) {
  BC_TRY(id, codec::id_of<join_request_id>(data, "requestId"));
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(subject, internal.text("subject"));
  BC_TRY(seen, read_seen(data, internal));
  BC_TRY(place, internal.optional_integer("place"));
  BC_TRY(at, codec::time_of(data, "refreshedAt"));
  BC_TRY(expires_at, codec::time_of(data, "expiresAt"));
  return event{refreshed{id, site, subject, seen, place, at, expires_at}};
}

// What both decisions have.
template <class Decision>
result<Decision> read_decision(const json::reader& data,
                               const json::reader& internal,
                               std::string_view when) {
  Decision d;
  BC_TRY(id, codec::id_of<join_request_id>(data, "requestId"));
  d.id = std::move(id);
  BC_TRY(pool, codec::id_of<pool_id>(data, "poolId"));
  d.pool = std::move(pool);
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  d.site = std::move(site);
  BC_TRY(attestor, data.text("attestor"));
  d.attestor = std::move(attestor);
  BC_TRY(csr, data.text("csrSha256"));
  d.csr_sha256 = std::move(csr);
  BC_TRY(reason, data.optional_text("reason"));
  d.reason = reason.value_or("");
  BC_TRY(at, codec::time_of(data, when));
  d.at = at;
  BC_TRY(subject, internal.text("subject"));
  d.subject = std::move(subject);
  BC_TRY(place, internal.optional_integer("place"));
  d.place = place;
  BC_TRY(by, internal.text("decidedBy"));
  d.by = std::move(by);
  return d;
}

result<event> read_approved(const json::reader& data,
                            const json::reader& internal) {
  BC_TRY(a, read_decision<approved>(data, internal, "approvedAt"));
  BC_TRY(expires_at, codec::time_of(data, "expiresAt"));
  a.expires_at = expires_at;
  return event{std::move(a)};
}

result<event> read_rejected(const json::reader& data,
                            const json::reader& internal) {
  BC_TRY(r, read_decision<rejected>(data, internal, "rejectedAt"));
  return event{std::move(r)};
}

result<event> read_consumed(const json::reader& data,
                            const json::reader& internal) {
  BC_TRY(id, codec::id_of<join_request_id>(data, "requestId"));
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(node, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(csr, data.text("csrSha256"));
  BC_TRY(at, codec::time_of(data, "consumedAt"));
  BC_TRY(subject, internal.text("subject"));
  return event{consumed{id, site, node, subject, csr, at}};
}

result<event> read_superseded(const json::reader& data,
                              const json::reader& internal) {
  superseded s;
  BC_TRY(id, codec::id_of<join_request_id>(data, "requestId"));
  s.id = std::move(id);
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  s.site = std::move(site);
  if (data.has("nodeId")) {
    BC_TRY(node, codec::id_of<node_id>(data, "nodeId"));
    s.node = std::move(node);
  }
  BC_TRY(csr, data.text("csrSha256"));
  s.csr_sha256 = std::move(csr);
  BC_TRY(at, codec::time_of(data, "supersededAt"));
  s.at = at;
  BC_TRY(subject, internal.text("subject"));
  s.subject = std::move(subject);
  BC_TRY(was_approved, internal.boolean("wasApproved"));
  s.was_approved = was_approved;
  BC_TRY(place, internal.optional_integer("place"));
  s.place = place;
  return event{std::move(s)};
}

}  // namespace

std::string text_of(const claims& c) {
  return codec::object([&](json::writer& out) {
    out.field("productUuid", c.product_uuid)
        .field("serials", c.serials)
        .field("macs", c.macs)
        .field("gpuUuids", c.gpu_uuids);
    codec::put_unless_empty(out, "hostname", c.hostname);
  });
}

event_write encode(const event& e) {
  auto out = std::visit([](const auto& what) { return write(what); }, e);
  out.effect = moves_of(e);
  return out;
}

result<event> decode(const envelope& e) {
  return codec::decode<event>(
      e, {{name::join_request_opened, read_opened},
          {name::join_request_refreshed, read_refreshed},
          {name::join_request_approved, read_approved},
          {name::join_request_rejected, read_rejected},
          {name::join_request_consumed, read_consumed},
          {name::join_request_superseded, read_superseded}});
}

}  // namespace bc::events::join_request
