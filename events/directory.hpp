#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

/// Tenants, sites, pools: what joins are judged against. Each has one stream;
/// names are unique for each owner through a claim
/// ("name:pool:<tenant>:<name>", ALREADY_EXISTS when taken).
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
  bool operator==(const created&) const = default;
};
using event = std::variant<created>;
struct state {
  std::uint64_t version = 0;
  std::optional<created> site;
};
[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);
}  // namespace site

namespace pool {
enum class agent { bcd, none };
[[nodiscard]] std::string_view agent_text(agent a) noexcept;
/// `pool.created`.
struct created {
  pool_id id;
  tenant_id tenant;
  site_id site;
  std::string name;
  agent pool_agent = agent::bcd;
  time_point at;
  bool operator==(const created&) const = default;
};
using event = std::variant<created>;
struct state {
  std::uint64_t version = 0;
  std::optional<created> pool;
};
[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);
}  // namespace pool

}  // namespace bc::events
