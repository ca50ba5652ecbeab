#include "events/boot_lease.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"

namespace bc::events::boot_lease {

namespace {

void apply(state& s, const acquired& a) {
  if (!s.lease || a.epoch > s.lease->epoch)
    s.lease = a;
}

void apply(state& s, const extended& e) {
  if (s.lease && e.epoch == s.lease->epoch)
    s.lease->expires_at = e.expires_at;
}

void apply(state& s, const released& r) {
  if (s.lease && r.epoch == s.lease->epoch && r.at < s.lease->expires_at)
    s.lease->expires_at = r.at;
}

event_write written(std::string_view type, std::string data,
                    std::string internal = "{}") {
  return {std::string{type}, 1, std::move(data), std::move(internal), {}};
}

event_write write(const acquired& a) {
  return written(name::boot_lease_acquired,
                 codec::object([&](json::writer& out) {
                   out.field("siteId", a.site.str())
                       .field("holder", a.holder.str())
                       .field("epoch", a.epoch)
                       .field("previous", text_of(a.previous))
                       .field("acquiredAt", to_rfc3339(a.at))
                       .field("expiresAt", to_rfc3339(a.expires_at));
                 }),
                 codec::object([&](json::writer& out) {
                   out.field("tenantId", a.tenant.str());
                 }));
}

event_write write(const extended& e) {
  return written(name::boot_lease_extended,
                 codec::object([&](json::writer& out) {
                   out.field("siteId", e.site.str())
                       .field("epoch", e.epoch)
                       .field("extendedAt", to_rfc3339(e.at))
                       .field("expiresAt", to_rfc3339(e.expires_at));
                 }));
}

event_write write(const released& r) {
  return written(name::boot_lease_released,
                 codec::object([&](json::writer& out) {
                   out.field("siteId", r.site.str())
                       .field("holder", r.holder.str())
                       .field("epoch", r.epoch)
                       .field("releasedAt", to_rfc3339(r.at));
                 }));
}

result<event> read_acquired(const json::reader& data,
                            const json::reader& internal) {
  acquired out;
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  BC_TRY(holder, codec::id_of<node_id>(data, "holder"));
  BC_TRY(epoch, data.integer("epoch"));
  if (data.has("previous")) {
    BC_TRY(previous, codec::id_of<node_id>(data, "previous"));
    out.previous = previous;
  }
  BC_TRY(at, codec::time_of(data, "acquiredAt"));
  BC_TRY(expires, codec::time_of(data, "expiresAt"));
  out.site = site;
  out.tenant = tenant;
  out.holder = holder;
  out.epoch = epoch;
  out.at = at;
  out.expires_at = expires;
  return event{std::move(out)};
}

result<event> read_extended(const json::reader& data, const json::reader&) {
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(epoch, data.integer("epoch"));
  BC_TRY(at, codec::time_of(data, "extendedAt"));
  BC_TRY(expires, codec::time_of(data, "expiresAt"));
  return event{extended{site, epoch, at, expires}};
}

result<event> read_released(const json::reader& data, const json::reader&) {
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(holder, codec::id_of<node_id>(data, "holder"));
  BC_TRY(epoch, data.integer("epoch"));
  BC_TRY(at, codec::time_of(data, "releasedAt"));
  return event{released{site, holder, epoch, at}};
}

}  // namespace

state evolve(state s, const event& e) {
  ++s.version;
  std::visit([&s](const auto& one) { apply(s, one); }, e);
  return s;
}

event_write encode(const event& e) {
  return std::visit([](const auto& one) { return write(one); }, e);
}

result<event> decode(const envelope& e) {
  return codec::decode<event>(e, {{name::boot_lease_acquired, read_acquired},
                                  {name::boot_lease_extended, read_extended},
                                  {name::boot_lease_released, read_released}});
}

const acquired* live_lease(const state& s, time_point now) {
  return s.lease && now < s.lease->expires_at ? &*s.lease : nullptr;
}

std::vector<event> decide(const state& s, const acquire& c) {
  const auto until = c.now + c.ttl;
  const auto* live = live_lease(s, c.now);
  if (live != nullptr && live->holder == c.holder) {
    if (live->expires_at - c.now > c.ttl / 2 || until <= live->expires_at)
      return {};
    return {extended{live->site, live->epoch, c.now, until}};
  }
  if (live != nullptr && !c.other_is_gone)
    return {};
  acquired out{c.site, c.tenant, c.holder, 1, std::nullopt, c.now, until};
  if (s.lease) {
    out.epoch = s.lease->epoch + 1;
    if (s.lease->holder != c.holder)
      out.previous = s.lease->holder;
  }
  return {std::move(out)};
}

std::vector<event> decide(const state& s, const release& c) {
  const auto* live = live_lease(s, c.now);
  if (live == nullptr || live->holder != c.holder)
    return {};
  return {released{live->site, live->holder, live->epoch, c.now}};
}

}  // namespace bc::events::boot_lease
