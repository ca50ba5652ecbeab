#include "events/audit.hpp"

#include "base/json.hpp"
#include "events/actor.hpp"
#include "events/catalog.hpp"
#include "events/codec.hpp"
#include "events/event_names.hpp"

#include <algorithm>
#include <array>

namespace bc::events {

namespace {

// Enough digits for any time and position, so that ids sort as they do.
constexpr std::size_t time_digits = 15;
constexpr std::size_t position_digits = 20;

constexpr std::string_view reclaimed = "node.reclaimed";

/// How an event type is audited: the action, and the field of the event's data
/// that names the resource, of which no name is the event's tenant.
struct rule {
  std::string_view type;
  std::string_view action;
  std::string_view kind;
  std::string_view field;
};

constexpr std::array rules = {
    rule{name::tenant_created, "compute:tenants:create", "compute-tenant/",
         "tenantId"},
    rule{name::site_created, "compute:sites:create", "compute-site/", "siteId"},
    rule{name::site_updated, "compute:sites:manage", "compute-site/", "siteId"},
    rule{name::site_deleted, "compute:sites:manage", "compute-site/", "siteId"},
    rule{name::boot_lease_acquired, name::boot_lease_acquired, "compute-site/",
         "siteId"},
    rule{name::boot_lease_released, name::boot_lease_released, "compute-site/",
         "siteId"},
    rule{name::pool_created, "compute:pools:create", "compute-pool/", "poolId"},
    rule{name::pool_updated, "compute:pools:manage", "compute-pool/", "poolId"},
    rule{name::pool_archived, "compute:pools:manage", "compute-pool/",
         "poolId"},
    rule{name::credential_created, "compute:credentials:create",
         "compute-tenant/", ""},
    rule{name::credential_revoked, "compute:credentials:revoke",
         "compute-tenant/", ""},
    rule{name::join_token_created, "compute:join-tokens:create",
         "compute-pool/", "poolId"},
    rule{name::join_token_revoked, "compute:join-tokens:revoke",
         "compute-pool/", "poolId"},
    rule{name::site_token_created, "compute:sites:manage", "compute-site/",
         "siteId"},
    rule{name::site_token_revoked, "compute:sites:manage", "compute-site/",
         "siteId"},
    rule{name::join_request_approved, "compute:join-tokens:create",
         "compute-pool/", "poolId"},
    rule{name::join_request_rejected, "compute:join-tokens:create",
         "compute-pool/", "poolId"},
    rule{name::node_joined, name::node_joined, "compute-node/", "nodeId"},
    rule{name::node_adopted, "compute:nodes:adopt", "compute-node/", "nodeId"},
    rule{name::node_cordoned, "compute:nodes:cordon", "compute-node/",
         "nodeId"},
    rule{name::node_retired, "compute:nodes:delete", "compute-node/", "nodeId"},
    rule{name::certificate_revoked, "compute:nodes:revoke-identity",
         "compute-node/", "nodeId"},
    rule{name::command_enqueued, "compute:commands:create", "compute-node/",
         "nodeId"},
};

const rule* rule_of(std::string_view type) {
  auto it = std::find_if(rules.begin(), rules.end(),
                         [&](const rule& r) { return r.type == type; });
  return it == rules.end() ? nullptr : &*it;
}

std::string padded(std::string digits, std::size_t width) {
  return digits.size() < width
             ? std::string(width - digits.size(), '0') + digits
             : digits;
}

bool is_callers(const envelope& e) {
  return e.actor != system_actor && e.actor != machine_actor;
}

// A node that is adopted at once or by its acceptance, the command that asks
// for this, and what a reclaim or a delete revokes, have the row of the
// decision they follow from.
result<bool> is_decision(const envelope& e, const json::reader& data) {
  if (e.type == name::node_adopted || e.type == name::command_enqueued)
    return is_callers(e);
  if (e.type != name::certificate_revoked)
    return true;
  BC_TRY(reason, data.text("reason"));
  return reason == "revoked";
}

result<std::string> action_of(const rule& r, const json::reader& data) {
  if (r.type != name::node_joined)
    return std::string{r.action};
  BC_TRY(again, data.boolean("reclaim"));
  return std::string{again ? reclaimed : r.action};
}

bool is_of_token(const rule& r) {
  return r.type == name::join_token_created ||
         r.type == name::join_token_revoked ||
         r.type == name::site_token_created ||
         r.type == name::site_token_revoked;
}

result<std::string> resource_of(const rule& r, const envelope& e,
                                const json::reader& data) {
  if (r.field.empty())
    return std::string{r.kind} + e.tenant;
  // A token may be of a site alone, whatever its event is called.
  if (is_of_token(r) && !data.has(r.field)) {
    BC_TRY(site, data.optional_text("siteId"));
    return site ? "compute-site/" + *site : "compute-tenant/" + e.tenant;
  }
  BC_TRY(id, data.text(r.field));
  return std::string{r.kind} + id;
}

result<std::optional<audit_entry>> entry_of(const rule& r, const envelope& e,
                                            const json::document& text) {
  json::reader data{text};
  BC_TRY(counts, is_decision(e, data));
  if (!counts)
    return std::nullopt;
  BC_TRY(action, action_of(r, data));
  BC_TRY(resource, resource_of(r, e, data));
  auto details = public_data(e);
  if (!details)
    return fail(errc::internal, "It has no public form");
  auto who = parse_actor(e.actor);
  return audit_entry{audit_bound(e.time) + "-" +
                         padded(std::to_string(e.position), position_digits),
                     e.position,
                     e.tenant,
                     e.time,
                     std::move(who.principal),
                     std::move(who.tenant),
                     std::move(who.credential),
                     action,
                     resource,
                     e.type,
                     e.correlation,
                     std::move(*details)};
}

}  // namespace

std::string audit_bound(time_point at) {
  auto ms = std::max<std::int64_t>(to_millis(at), 0);
  return padded(std::to_string(ms), time_digits);
}

std::optional<std::string_view> audited_action(std::string_view event_type) {
  const auto* r = rule_of(event_type);
  return r == nullptr ? std::nullopt : std::optional{r->action};
}

result<std::optional<audit_entry>> audit_of(const envelope& e) {
  const auto* r = rule_of(e.type);
  if (r == nullptr || e.tenant.empty())
    return std::nullopt;
  const auto* type = find_event_type(e.type);
  if (type == nullptr || type->version != e.type_version)
    return codec::unknown_event(e);
  auto data = json::parse_object(e.data);
  auto entry = data ? entry_of(*r, e, data.value())
                    : result<std::optional<audit_entry>>{data.error()};
  if (!entry)
    return codec::unreadable(e, entry.error());
  return entry;
}

}  // namespace bc::events
