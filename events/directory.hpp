#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bc::json {
class reader;
class writer;
}  // namespace bc::json

/// Tenants, sites, pools: what joins are judged against. Each has one stream;
/// names are unique for each owner through a claim
/// ("name:pool:<tenant>:<name>", ALREADY_EXISTS when taken), which moves with
/// a new name and is free again when the site or pool has ended.
namespace bc::events {

namespace tenant {
/// `tenant.created`.
struct created {
  tenant_id id;
  std::string name;
  bool root = false;
  time_point at;
  bool operator==(const created&) const = default;
};
using event = std::variant<created>;
struct state {
  std::uint64_t version = 0;
  std::optional<created> tenant;
};
[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);
}  // namespace tenant

namespace site {
/// Shared and dedicated sites are the platform's, made by the root tenant
/// alone; a tenant's own hardware stands on custom ones.
enum class kind { shared, dedicated, custom };
[[nodiscard]] std::string_view kind_text(kind k) noexcept;
[[nodiscard]] std::optional<kind> parse_kind(std::string_view text) noexcept;
/// `site.created`.
struct created {
  site_id id;
  tenant_id owner;
  std::string name;
  kind site_kind = kind::dedicated;
  time_point at;
  /// Of a dedicated site: the tenant it serves besides its owner.
  std::optional<tenant_id> dedicated_to = std::nullopt;
  bool operator==(const created&) const = default;
};
/// `site.updated`: what can change, as it is from now on.
struct updated {
  site_id id;
  std::string name;
  std::optional<tenant_id> dedicated_to;
  time_point at;
  tenant_id owner;            // internal
  std::string previous_name;  // internal
  bool operator==(const updated&) const = default;
};
/// `site.deleted`.
struct deleted {
  site_id id;
  time_point at;
  tenant_id owner;   // internal
  std::string name;  // internal
  bool operator==(const deleted&) const = default;
};
using event = std::variant<created, updated, deleted>;
struct state {
  std::uint64_t version = 0;
  std::optional<created> site;  // as updated
  std::optional<time_point> deleted_at;
};
[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

[[nodiscard]] bool is_platform(const created& s) noexcept;
/// To its owner; a shared site to everyone, a dedicated one to the tenant it
/// serves.
[[nodiscard]] bool is_visible_to(const created& s, const tenant_id& who);

/// What is left out stays. Serving its owner, a dedicated site serves nobody
/// else. No events when nothing changes; INVALID_STATE once deleted,
/// INVALID_INPUT (/dedicatedTo) for a site of another kind.
struct update {
  std::optional<std::string> name;
  std::optional<tenant_id> dedicated_to;
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const update& c);
/// No events when already deleted.
struct remove {
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const remove& c);
}  // namespace site

namespace pool {
enum class agent { bcd, none };
[[nodiscard]] std::string_view agent_text(agent a) noexcept;
[[nodiscard]] std::optional<agent> parse_agent(std::string_view text) noexcept;

/// What a pool asks of the machines that join it.
struct policy {
  std::vector<std::string> join_attestors;  // empty: all
  /// Its machines are of Kubernetes clusters that the platform runs; counts
  /// only where the platform owns the pool (spec: joining#creating-a-token).
  bool platform_operated = false;
  std::vector<std::string> acceptance_checks;  // names; empty: none
  bool operator==(const policy&) const = default;
};
/// The JSON object of API and events, a field that says nothing left out:
/// {"joinAttestors":["tpm"],"kubernetes":{"platformOperated":true},
/// "acceptance":{"checks":["burn-in"]}}.
void put(json::writer& out, const policy& p);
[[nodiscard]] result<policy> read_policy(const json::reader& in);
/// The attestors a policy can name.
[[nodiscard]] bool is_attestor(std::string_view name) noexcept;
[[nodiscard]] bool admits_attestor(const policy& p, std::string_view attestor);

/// `pool.created`.
struct created {
  pool_id id;
  tenant_id tenant;
  site_id site;
  std::string name;
  agent pool_agent = agent::bcd;
  time_point at;
  policy rules = {};
  bool operator==(const created&) const = default;
};
/// `pool.updated`: what can change, as it is from now on.
struct updated {
  pool_id id;
  std::string name;
  agent pool_agent = agent::bcd;
  policy rules;
  time_point at;
  tenant_id tenant;           // internal
  std::string previous_name;  // internal
  bool operator==(const updated&) const = default;
};
/// `pool.archived`.
struct archived {
  pool_id id;
  time_point at;
  tenant_id tenant;  // internal
  std::string name;  // internal
  bool operator==(const archived&) const = default;
};
using event = std::variant<created, updated, archived>;
struct state {
  std::uint64_t version = 0;
  std::optional<created> pool;  // as updated
  std::optional<time_point> archived_at;
};
[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

/// What is left out stays; a policy replaces the whole of the old one. No
/// events when nothing changes; INVALID_STATE once archived.
struct update {
  std::optional<std::string> name;
  std::optional<agent> pool_agent;
  std::optional<policy> rules;
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const update& c);
/// No events when already archived.
struct archive {
  time_point now;
};
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const archive& c);
}  // namespace pool

}  // namespace bc::events
