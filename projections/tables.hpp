#pragma once

#include "events/sql.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

/// The read models' tables and the statements that fill them, for the live
/// tables or for a set of shadows. What differs between SQLite and Postgres is
/// here and in the two migrations (schema/sql, schema/postgres).
namespace bc::projections {

struct table {
  std::string_view name;
  std::string_view key;      // its primary key
  std::string_view columns;  // all of them, with commas
};

inline constexpr std::array tables = {
    table{"tenants", "id", "id,name,root,created_at"},
    table{"sites", "id",
          "id,owner,name,kind,created_at,dedicated_to,deleted_at"},
    table{"pools", "id",
          "id,tenant,site,name,agent,created_at,policy,archived_at"},
    table{"join_tokens", "id",
          "id,tenant,pool,site,role,max_uses,uses_left,expect_product_uuid,"
          "expect_serial,expect_mac,expect_gpu_uuid,allow_reclaim,hosted,"
          "created_at,expires_at,revoked_at,lapsed,node"},
    table{"join_requests", "id",
          "id,scope,tenant,site,pool,attestor,state,open,csr_sha256,claims,"
          "hardware_key,hardware_key_trusted,mac,ip,vouched_by,"
          "boot_lease_epoch,workflow,ek_hash,ek_cert,ek_manufacturer,"
          "ek_model,place,created_at,refreshed_at,expires_at,claims_changed,"
          "decided_at,decided_by,reason,consumed_at,node,joined_as,"
          "superseded_at"},
    table{"nodes", "id",
          "id,tenant,site,pool,status,attestor,hardware_key,"
          "hardware_key_trusted,hostname,node_key,role,generation,joined_at,"
          "adopted_at,certificate,trust,acceptance,cordoned_at,cordon_reason,"
          "retired_at,clone_suspected_at,session,session_gateway,"
          "session_address,session_version,connected_at,disconnected_at,"
          "disconnect_reason,acceptance_started_at,acceptance_failed_at,"
          "failed_checks,warn_at,hardware_changed_at,hardware_taken_at,token,"
          "certificate_ends,ek_hash,changed_identifiers"},
    table{"commands", "id",
          "id,seq,tenant,node,kind,payload,enqueued_at,expires_at,"
          "completed_at,succeeded,output"},
    table{"node_certs", "serial",
          "serial,node,role,generation,spki_sha256,not_before,not_after,"
          "revoked_at,der,revoked_for,revoked_position"},
    table{"credentials", "id",
          "id,tenant,principal,grants,created_at,revoked_at"},
    table{"tenant_access", "id", "id,tenant,kind,resource"},
    table{"audit", "row_id",
          "row_id,id,position,tenant,owner,at,principal,actor_tenant,"
          "credential,action,resource,event,correlation,details"},
    table{"node_macs", "id", "id,node,tenant,mac,position"},
    table{"shared_macs", "id", "id,node,tenant,other,other_tenant,mac,told_at"},
};

inline constexpr std::string_view shadow_suffix = "__new";

/// The tables and indexes of all migrations without the checkpoint, where
/// there are none yet; with a suffix each has another name.
[[nodiscard]] std::string creation_script(sql::dialect d,
                                          std::string_view suffix);

/// Makes the checkpoint anew, at 0.
[[nodiscard]] std::string checkpoint_script(sql::dialect d);

/// Drops every table of this suffix, not the checkpoint.
[[nodiscard]] std::string drop_script(std::string_view suffix);

/// Puts the shadows in the place of the live tables; their indexes get the
/// live ones' names.
[[nodiscard]] std::string swap_script(sql::dialect d);

/// Begins a transaction that reads all tables as they are now; on Postgres no
/// rebuild swaps them meanwhile.
[[nodiscard]] std::string read_script(sql::dialect d);

/// Statistics of the shadows, before they go live.
[[nodiscard]] std::string analyze_script();

/// Statements over the tables of one suffix. Connections keep prepared
/// statements by their text, so a set lives as long as the program.
struct statements {
  explicit statements(std::string_view suffix);

  std::string add_tenant;
  std::string add_site;
  std::string update_site;
  std::string delete_site;
  std::string add_pool;
  std::string update_pool;
  std::string archive_pool;
  std::string add_token;
  std::string spend_token;
  std::string revoke_token;
  std::string lapse_tokens;
  std::string next_expiry;
  std::string open_request;
  std::string refresh_request;
  std::string approve_request;
  std::string reject_request;
  std::string consume_request;
  std::string supersede_request;
  std::string join_by_hardware;
  std::string join_by_ek;
  std::string join_by_mac;
  std::string forget_joined;
  std::string lapse_requests;
  std::string put_node;
  std::string rejoin_node;
  std::string renew_node;
  std::string adopt_node;
  std::string cordon_node;
  std::string retire_node;
  std::string suspect_clone;
  std::string connect_node;
  std::string disconnect_node;
  std::string start_acceptance;
  std::string fail_acceptance;
  std::string tell_of_expiry;
  std::string expect_no_renewal;
  std::string record_inventory;
  std::string enqueue_command;
  std::string complete_command;
  std::string add_certificate;
  std::string revoke_certificate;
  std::string show;
  std::string hide_from_others;
  std::string add_credential;
  std::string revoke_credential;
  std::string add_audit;
  std::string add_mac;
  std::string find_shared;
  std::string tell_shared;
  std::string forget_macs;
  std::string forget_shared;
  /// Change nothing, and fail when a table cannot be written.
  std::vector<std::string> probes;
};

[[nodiscard]] const statements& live_statements();
[[nodiscard]] const statements& shadow_statements();

}  // namespace bc::projections
