#pragma once

#include <string_view>

/// The frozen wire names of every event type; what each holds and what of it
/// is public stands in catalog.cpp.
namespace bc::events::name {

inline constexpr std::string_view tenant_created = "tenant.created";
inline constexpr std::string_view site_created = "site.created";
inline constexpr std::string_view site_updated = "site.updated";
inline constexpr std::string_view site_deleted = "site.deleted";
inline constexpr std::string_view boot_lease_acquired =
    "site.boot-lease-acquired";
inline constexpr std::string_view boot_lease_extended =
    "site.boot-lease-extended";
inline constexpr std::string_view boot_lease_released =
    "site.boot-lease-released";
inline constexpr std::string_view pool_created = "pool.created";
inline constexpr std::string_view pool_updated = "pool.updated";
inline constexpr std::string_view pool_archived = "pool.archived";
inline constexpr std::string_view credential_created =
    "security.credential.created";
inline constexpr std::string_view credential_revoked =
    "security.credential.revoked";
inline constexpr std::string_view join_token_created =
    "security.join-token.created";
inline constexpr std::string_view join_token_redeemed =
    "security.join-token.redeemed";
inline constexpr std::string_view join_token_revoked =
    "security.join-token.revoked";
inline constexpr std::string_view site_token_created =
    "security.site-token.created";
inline constexpr std::string_view site_token_revoked =
    "security.site-token.revoked";
inline constexpr std::string_view join_request_opened =
    "security.join-request.opened";
inline constexpr std::string_view join_request_refreshed =
    "security.join-request.refreshed";
inline constexpr std::string_view join_request_approved =
    "security.join-request.approved";
inline constexpr std::string_view join_request_rejected =
    "security.join-request.rejected";
inline constexpr std::string_view join_request_consumed =
    "security.join-request.consumed";
inline constexpr std::string_view join_request_superseded =
    "security.join-request.superseded";
inline constexpr std::string_view node_joined = "node.joined";
inline constexpr std::string_view certificate_renewed =
    "node.certificate-renewed";
inline constexpr std::string_view node_adopted = "node.adopted";
inline constexpr std::string_view node_cordoned = "node.cordoned";
inline constexpr std::string_view node_retired = "node.retired";
inline constexpr std::string_view node_clone_suspected = "node.clone-suspected";
inline constexpr std::string_view node_hardware_shared = "node.hardware-shared";
inline constexpr std::string_view node_connected = "node.connected";
inline constexpr std::string_view node_disconnected = "node.disconnected";
inline constexpr std::string_view node_acceptance_started =
    "node.acceptance.started";
inline constexpr std::string_view node_acceptance_failed =
    "node.acceptance.failed";
inline constexpr std::string_view node_inventory_recorded =
    "node.inventory-recorded";
inline constexpr std::string_view command_enqueued = "node.command.enqueued";
inline constexpr std::string_view command_completed = "node.command.completed";
inline constexpr std::string_view certificate_expiring =
    "security.certificate-expiring";
inline constexpr std::string_view certificate_revoked =
    "security.certificate-revoked";
inline constexpr std::string_view join_refused = "security.join.refused";
inline constexpr std::string_view renew_refused = "security.renew.refused";
inline constexpr std::string_view incarnation_started =
    "journal.incarnation-started";
inline constexpr std::string_view pki_initialized = "pki.initialized";
inline constexpr std::string_view pki_rotated = "pki.rotated";

}  // namespace bc::events::name
