#pragma once

#include <array>
#include <string>
#include <string_view>

/// The read models' tables and the statements that fill them, for the live
/// tables or for a set of shadows.
namespace bc::projections {

struct table {
  std::string_view name;
  std::string_view key;      // its primary key
  std::string_view columns;  // all of them, with commas
};

inline constexpr std::array tables = {
    table{"tenants", "id", "id,name,root,created_at"},
    table{"sites", "id", "id,owner,name,kind,created_at"},
    table{"pools", "id", "id,tenant,site,name,agent,created_at"},
    table{"join_tokens", "id",
          "id,tenant,pool,site,role,max_uses,uses_left,expect_product_uuid,"
          "expect_serial,expect_mac,expect_gpu_uuid,allow_reclaim,hosted,"
          "created_at,expires_at,revoked_at,lapsed"},
    table{"nodes", "id",
          "id,tenant,site,pool,status,attestor,hardware_key,"
          "hardware_key_trusted,hostname,node_key,role,generation,joined_at,"
          "adopted_at,certificate"},
    table{"node_certs", "serial",
          "serial,node,role,generation,spki_sha256,not_before,not_after,"
          "revoked_at,der"},
    table{"projection_checkpoint", "one", "one,position"},
};

inline constexpr std::string_view shadow_suffix = "__new";

/// The migration's script; with a suffix every table and index of it has
/// another name.
[[nodiscard]] std::string creation_script(std::string_view suffix);

/// Drops every table of this suffix.
[[nodiscard]] std::string drop_script(std::string_view suffix);

/// Puts the shadows in the place of the live tables.
[[nodiscard]] std::string swap_script();

/// Statements over the tables of one suffix. Connections keep prepared
/// statements by their text, so a set lives as long as the program.
struct statements {
  explicit statements(std::string_view suffix);

  std::string add_tenant;
  std::string add_site;
  std::string add_pool;
  std::string add_token;
  std::string spend_token;
  std::string revoke_token;
  std::string lapse_tokens;
  std::string put_node;
  std::string adopt_node;
  std::string add_certificate;
  std::string revoke_older_certificates;
  std::string set_checkpoint;
};

[[nodiscard]] const statements& live_statements();
[[nodiscard]] const statements& shadow_statements();

}  // namespace bc::projections
