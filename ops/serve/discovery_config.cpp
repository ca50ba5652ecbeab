#include "ops/serve/discovery_config.hpp"

#include "base/ids.hpp"
#include "events/command_kind.hpp"

#include <utility>

namespace bc::serve {

namespace {

const std::string section = "attestors.discovery.";
constexpr std::int64_t most_places = 100'000;
constexpr std::int64_t longest_wait = 30 * 86'400;
// An agent vouches while 10 s of its lease are left, and asks again in time.
constexpr std::int64_t shortest_lease = 30;
constexpr std::int64_t longest_lease = 600;

// Bounds in seconds.
option lasting(const char* name, seconds& into, std::int64_t least,
               std::int64_t most, std::string help) {
  return {section + name, &into, std::move(help), least, most};
}

}  // namespace

void add_options(std::vector<option>& to, discovery_settings& s) {
  to.push_back({section + "enabled", &s.enabled,
                "Whether machines join that a site agent booted and vouches "
                "for: true or false"});
  option approval{section + "approval", &s.approval,
                  "Which of them wait for join-requests approve: none, those "
                  "without a discovery token, or all"};
  approval.choices = {"never", "unknown-machines", "always"};
  to.push_back(std::move(approval));
  to.push_back({section + "pools", &s.pools,
                "The pool of each site's machines that have neither a token "
                "nor an approval: \"site_...\" = \"pool_...\""});
  to.push_back({section + "allowed_kinds", &s.allowed_kinds,
                "Kinds of commands that a ramdisk takes: a kind, or PREFIX.*"});
  to.push_back(lasting("pending_ttl", s.pending_ttl, 60, longest_wait,
                       "How long a machine waits"));
  option places{section + "pending_places", &s.pending_places,
                "How many of a site may wait"};
  places.least = 1;
  places.most = most_places;
  to.push_back(std::move(places));
  to.push_back(lasting("boot_lease", s.boot_lease, shortest_lease,
                       longest_lease,
                       "How long one of a site's agents boots its machines, "
                       "unless it asks again"));
}

std::vector<std::string> problems_of(const discovery_settings& s) {
  std::vector<std::string> found;
  for (const auto& [site, pool] : s.pools) {
    if (!site_id::parse(site))
      found.push_back(section + "pools: '" + site + "' is no site's id");
    if (!pool_id::parse(pool))
      found.push_back(section + "pools: '" + pool + "' is no pool's id");
  }
  if (s.allowed_kinds.empty())
    found.push_back(section +
                    "allowed_kinds is empty: that would be every kind");
  for (const auto& kind : s.allowed_kinds)
    if (!events::is_kind_pattern(kind))
      found.push_back(section + "allowed_kinds: '" + kind +
                      "' is neither a kind of command nor PREFIX.*");
  return found;
}

result<std::optional<actors::discovery_attestor>> attestor_of(
    const discovery_settings& s) {
  std::optional<actors::discovery_attestor> out;
  if (!s.enabled)
    return out;
  auto& discovery = out.emplace();
  auto approval = actors::parse_approval(s.approval);
  if (!approval)
    return fail(errc::invalid_config,
                section + "approval: '" + s.approval + "' is no such mode");
  discovery.approval = *approval;
  for (const auto& [site, pool] : s.pools) {
    BC_TRY(at, site_id::parse(site));
    BC_TRY(where, pool_id::parse(pool));
    discovery.pools.emplace(std::move(at), std::move(where));
  }
  discovery.allowed_kinds = s.allowed_kinds;
  discovery.pending_for = s.pending_ttl;
  discovery.pending_places = s.pending_places;
  discovery.boot_lease = s.boot_lease;
  return out;
}

}  // namespace bc::serve
