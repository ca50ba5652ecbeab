#include "events/catalog.hpp"

#include "base/json.hpp"
#include "events/codec.hpp"
#include "events/directory.hpp"
#include "events/event_names.hpp"
#include "events/join_request.hpp"
#include "events/join_token.hpp"
#include "events/journal_stream.hpp"
#include "events/node.hpp"

#include <algorithm>
#include <array>

namespace bc::events {

namespace {

using fields = std::string_view;

constexpr fields tenant_fields[] = {"tenantId", "name", "root", "createdAt"};
constexpr fields site_fields[] = {"siteId", "tenantId",    "name",
                                  "kind",   "dedicatedTo", "createdAt"};
constexpr fields site_updated_fields[] = {"siteId", "name", "dedicatedTo",
                                          "updatedAt"};
constexpr fields site_deleted_fields[] = {"siteId", "deletedAt"};
constexpr fields lease_acquired_fields[] = {
    "siteId", "holder", "epoch", "previous", "acquiredAt", "expiresAt"};
constexpr fields lease_released_fields[] = {"siteId", "holder", "epoch",
                                            "releasedAt"};
constexpr fields pool_fields[] = {"poolId", "tenantId", "siteId",   "name",
                                  "agent",  "policy",   "createdAt"};
constexpr fields pool_updated_fields[] = {"poolId", "name", "agent", "policy",
                                          "updatedAt"};
constexpr fields pool_archived_fields[] = {"poolId", "archivedAt"};
constexpr fields credential_fields[] = {"credentialId", "principal", "grants",
                                        "createdAt"};
constexpr fields credential_revoked_fields[] = {"credentialId", "principal",
                                                "revokedAt"};
constexpr fields token_created_fields[] = {
    "tokenId",   "poolId", "siteId",       "role",   "maxUses",
    "expiresAt", "pinned", "allowReclaim", "hosted", "nodeId"};
constexpr fields token_revoked_fields[] = {"tokenId", "poolId", "revokedAt"};
constexpr fields site_token_created_fields[] = {"tokenId", "siteId", "maxUses",
                                                "expiresAt"};
constexpr fields site_token_revoked_fields[] = {"tokenId", "siteId",
                                                "revokedAt"};
constexpr fields request_approved_fields[] = {
    "requestId", "poolId",    "siteId", "attestor",
    "csrSha256", "expiresAt", "reason", "approvedAt"};
constexpr fields request_rejected_fields[] = {
    "requestId", "poolId", "siteId",    "attestor",
    "csrSha256", "reason", "rejectedAt"};
constexpr fields joined_fields[] = {"nodeId",
                                    "poolId",
                                    "siteId",
                                    "attestor",
                                    "reclaim",
                                    "hardwareKeyTrusted",
                                    "hardwareKey",
                                    "ekHash",
                                    "hardwareChanged",
                                    "changedIdentifiers",
                                    "certificateSerial",
                                    "nodeKey",
                                    "identityGeneration",
                                    "role",
                                    "trust",
                                    "acceptance",
                                    "notAfter"};
constexpr fields renewed_fields[] = {"nodeId",   "serial", "generation",
                                     "notAfter", "role",   "previousSerial"};
constexpr fields adopted_fields[] = {"nodeId", "adoptedAt"};
constexpr fields cordoned_fields[] = {"nodeId", "reason", "cordonedAt"};
constexpr fields retired_fields[] = {"nodeId", "reason", "retiredAt"};
constexpr fields certificate_revoked_fields[] = {
    "nodeId", "certificateSerial", "identityGeneration", "reason",
    "note",   "revokedAt"};
constexpr fields clone_suspected_fields[] = {"nodeId", "hardwareKey", "sign",
                                             "suspectedAt"};
constexpr fields connected_fields[] = {
    "nodeId",  "sessionId",         "gatewayId",  "address",
    "version", "certificateSerial", "supersedes", "connectedAt"};
constexpr fields disconnected_fields[] = {"nodeId", "sessionId", "reason",
                                          "disconnectedAt"};
constexpr fields acceptance_started_fields[] = {"nodeId", "startedAt"};
constexpr fields acceptance_failed_fields[] = {"nodeId", "checks", "failedAt"};
constexpr fields certificate_expiring_fields[] = {
    "nodeId",   "certificateSerial", "identityGeneration",
    "notAfter", "connected",         "warnedAt"};
constexpr fields inventory_recorded_fields[] = {
    "nodeId",          "hardwareKey",   "hardwareKeyTrusted",
    "hardwareChanged", "hardwareTaken", "changedIdentifiers",
    "recordedAt"};
constexpr fields command_enqueued_fields[] = {"commandId", "nodeId", "kind",
                                              "enqueuedAt", "expiresAt"};
constexpr fields command_completed_fields[] = {"commandId", "nodeId",
                                               "succeeded", "completedAt"};
constexpr fields hardware_shared_fields[] = {"nodeId", "otherNodeId",
                                             "macSha256", "detectedAt"};
constexpr fields refused_fields[] = {"attestor",  "reason",      "role",
                                     "csrSha256", "hardwareKey", "suppressed"};
constexpr fields renew_refused_fields[] = {
    "attestor", "reason", "nodeId", "serial", "csrSha256", "suppressed"};

constexpr std::array types = {
    event_type{name::tenant_created, 1, "tenant", true, tenant_fields},
    event_type{name::site_created, 1, "site", true, site_fields},
    event_type{name::site_updated, 1, "site", true, site_updated_fields},
    event_type{name::site_deleted, 1, "site", true, site_deleted_fields},
    event_type{name::boot_lease_acquired, 1, "boot_lease", true,
               lease_acquired_fields},
    event_type{name::boot_lease_extended, 1, "boot_lease", false, {}},
    event_type{name::boot_lease_released, 1, "boot_lease", true,
               lease_released_fields},
    event_type{name::pool_created, 1, "pool", true, pool_fields},
    event_type{name::pool_updated, 1, "pool", true, pool_updated_fields},
    event_type{name::pool_archived, 1, "pool", true, pool_archived_fields},
    event_type{name::credential_created, 1, "credential", true,
               credential_fields},
    event_type{name::credential_revoked, 1, "credential", true,
               credential_revoked_fields},
    event_type{name::join_token_created, 1, "join_token", true,
               token_created_fields},
    event_type{name::join_token_redeemed, 1, "join_token", false, {}},
    event_type{name::join_token_revoked, 1, "join_token", true,
               token_revoked_fields},
    event_type{name::site_token_created, 1, "join_token", true,
               site_token_created_fields},
    event_type{name::site_token_revoked, 1, "join_token", true,
               site_token_revoked_fields},
    event_type{name::join_request_opened, 1, "join_request", false, {}},
    event_type{name::join_request_refreshed, 1, "join_request", false, {}},
    event_type{name::join_request_approved, 1, "join_request", true,
               request_approved_fields},
    event_type{name::join_request_rejected, 1, "join_request", true,
               request_rejected_fields},
    event_type{name::join_request_consumed, 1, "join_request", false, {}},
    event_type{name::join_request_superseded, 1, "join_request", false, {}},
    event_type{name::node_joined, 1, "node", true, joined_fields},
    event_type{name::certificate_renewed, 1, "node", true, renewed_fields},
    event_type{name::node_adopted, 1, "node", true, adopted_fields},
    event_type{name::node_cordoned, 1, "node", true, cordoned_fields},
    event_type{name::node_retired, 1, "node", true, retired_fields},
    event_type{name::node_clone_suspected, 1, "node", true,
               clone_suspected_fields},
    event_type{name::node_hardware_shared, 1, "node", true,
               hardware_shared_fields},
    event_type{name::node_connected, 1, "node", true, connected_fields},
    event_type{name::node_disconnected, 1, "node", true, disconnected_fields},
    event_type{name::node_acceptance_started, 1, "node", true,
               acceptance_started_fields},
    event_type{name::node_acceptance_failed, 1, "node", true,
               acceptance_failed_fields},
    event_type{name::node_inventory_recorded, 1, "node", true,
               inventory_recorded_fields},
    event_type{name::command_enqueued, 1, "command", true,
               command_enqueued_fields},
    event_type{name::command_completed, 1, "command", true,
               command_completed_fields},
    event_type{name::certificate_expiring, 1, "node", true,
               certificate_expiring_fields},
    event_type{name::certificate_revoked, 1, "node", true,
               certificate_revoked_fields},
    event_type{name::join_refused, 1, "refusal", true, refused_fields},
    event_type{name::renew_refused, 1, "refusal", true, renew_refused_fields},
    event_type{name::incarnation_started, 1, journal_stream, false, {}},
    event_type{name::pki_initialized, 1, "pki", false, {}},
    event_type{name::pki_rotated, 1, "pki", false, {}},
};

template <class Decode, class Moves>
result<moves> decoded_moves(const envelope& e, Decode decode, Moves moves_of) {
  BC_TRY(event, decode(e));
  return moves_of(event);
}

std::string padded(std::uint64_t position) {
  auto digits = std::to_string(position);
  return std::string(20 - digits.size(), '0') + digits;
}

}  // namespace

std::span<const event_type> event_types() {
  return types;
}

const event_type* find_event_type(std::string_view name) {
  auto it = std::find_if(types.begin(), types.end(),
                         [&](const auto& t) { return t.name == name; });
  return it == types.end() ? nullptr : &*it;
}

result<moves> moves_of(const envelope& e) {
  const auto* type = find_event_type(e.type);
  if (!type || type->version != e.type_version)
    return codec::unknown_event(e);
  if (type->stream_kind == "join_token")
    return decoded_moves(e, join_token::decode, join_token::moves_of);
  if (type->stream_kind == "node")
    return decoded_moves(e, node::decode, node::moves_of);
  if (type->stream_kind == "join_request")
    return decoded_moves(e, join_request::decode, join_request::moves_of);
  if (type->stream_kind == "tenant")
    return decoded_moves(e, tenant::decode, tenant::moves_of);
  if (type->stream_kind == "site")
    return decoded_moves(e, site::decode, site::moves_of);
  if (type->stream_kind == "pool")
    return decoded_moves(e, pool::decode, pool::moves_of);
  if (type->stream_kind == journal_stream)
    return decoded_moves(e, journal_log::decode, journal_log::moves_of);
  return moves{};
}

std::optional<std::string> public_data(const envelope& e) {
  const auto* type = find_event_type(e.type);
  if (!type || !type->is_public || type->version != e.type_version)
    return std::nullopt;
  auto data = json::parse_object(e.data);
  if (!data)
    return std::nullopt;
  json::writer out;
  out.begin_object();
  for (auto field : type->public_fields) {
    auto it = data.value().FindMember(
        json::value{rapidjson::StringRef(field.data(), field.size())});
    if (it != data.value().MemberEnd())
      out.key(field).raw_value(it->value);
  }
  return out.end_object().str();
}

std::optional<public_event> public_parts(const envelope& e,
                                         std::string_view incarnation,
                                         std::string_view source) {
  auto data = public_data(e);
  if (!data)
    return std::nullopt;
  const auto prefix = std::string{incarnation} + "-";
  public_event out;
  out.attributes = {{"specversion", "1.0"},
                    {"id", prefix + std::to_string(e.position)},
                    {"type", e.type},
                    {"source", std::string{source}},
                    {"subject", e.stream},
                    {"time", to_rfc3339(e.time)},
                    {"dataschema", "urn:better-compute:event:" + e.type + ":" +
                                       std::to_string(e.type_version)}};
  // CloudEvents forbids an empty attribute.
  if (!e.tenant.empty())
    out.attributes.emplace_back("tenantid", e.tenant);
  if (!e.correlation.empty())
    out.attributes.emplace_back("correlationid", e.correlation);
  out.attributes.emplace_back("sequence", prefix + padded(e.position));
  out.data = std::move(*data);
  return out;
}

std::optional<std::string> to_public(const envelope& e,
                                     std::string_view incarnation,
                                     std::string_view source) {
  auto parts = public_parts(e, incarnation, source);
  if (!parts)
    return std::nullopt;
  json::writer out;
  out.begin_object();
  for (const auto& [name, value] : parts->attributes)
    out.field(name, value);
  return out.key("data").raw(parts->data).end_object().str();
}

}  // namespace bc::events
