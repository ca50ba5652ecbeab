#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The stream of one site's boot lease: which of its agents boots its machines
/// and vouches for them now (spec: ATTESTATION section 4). An agent that was
/// cut off, and thinks it still boots them, has an older epoch.
namespace bc::events::boot_lease {

/// `site.boot-lease-acquired`: an agent has the lease that it had not.
struct acquired {
  site_id site;
  tenant_id tenant;  // the site's owner
  node_id holder;
  std::int64_t epoch = 1;           // one more than the one before
  std::optional<node_id> previous;  // who had it before, if another agent
  time_point at;
  time_point expires_at;
  bool operator==(const acquired&) const = default;
};
/// `site.boot-lease-extended` (internal): its holder goes on.
struct extended {
  site_id site;
  std::int64_t epoch = 1;
  time_point at;
  time_point expires_at;
  bool operator==(const extended&) const = default;
};
/// `site.boot-lease-released`: its holder gave it up.
struct released {
  site_id site;
  node_id holder;
  std::int64_t epoch = 1;
  time_point at;
  bool operator==(const released&) const = default;
};
using event = std::variant<acquired, extended, released>;

struct state {
  std::uint64_t version = 0;
  /// The newest, with when it ends as of its last extension or its release.
  std::optional<acquired> lease;
};

[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

/// The lease, until the very second of its end; null: it is free.
[[nodiscard]] const acquired* live_lease(const state& s, time_point now);

inline constexpr seconds default_ttl{120};

/// An agent wants to boot the site's machines. Extends its own lease once no
/// more than half of `ttl` is left, since an agent asks for as long as it runs
/// and every extension is an event; takes a free one, with the next epoch. No
/// events while another agent's is live.
struct acquire {
  site_id site;
  tenant_id tenant;
  node_id holder;
  milliseconds ttl = default_ttl;
  time_point now;
  /// The other agent that has it has no certificate for it any more (revoked,
  /// retired): the lease is as good as free.
  bool other_is_gone = false;
};
[[nodiscard]] std::vector<event> decide(const state& s, const acquire& c);

/// Gives the agent's live lease up; no events when it has none.
struct release {
  node_id holder;
  time_point now;
};
[[nodiscard]] std::vector<event> decide(const state& s, const release& c);

}  // namespace bc::events::boot_lease
