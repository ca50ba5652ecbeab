#pragma once

#include "actors/api/read_models.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "events/boot_lease.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::actors {

/// Which machines that a site agent vouched for join without a person's word.
enum class discovery_approval {
  never,             // no approval is asked for: a vouch is enough
  unknown_machines,  // those with a discovery token
  always,            // none, whatever they have
};
/// "never", "unknown-machines", "always".
[[nodiscard]] std::string_view approval_text(discovery_approval a) noexcept;
[[nodiscard]] std::optional<discovery_approval> parse_approval(
    std::string_view text) noexcept;

/// What a ramdisk's certificate lets in where nothing is configured.
[[nodiscard]] std::vector<std::string> ramdisk_kinds();

/// The configuration of the `discovery` attestor (spec: ATTESTATION section 4).
struct discovery_attestor {
  discovery_approval approval = discovery_approval::unknown_machines;
  /// Where machines go that have neither a token nor an approval.
  std::map<site_id, pool_id> pools;
  /// Kinds of commands (events/command_kind.hpp); never empty.
  std::vector<std::string> allowed_kinds = ramdisk_kinds();
  seconds pending_for{86'400};         // of a request
  std::int64_t pending_places = 1000;  // of each site
  seconds boot_lease = events::boot_lease::default_ttl;
  /// How far the read models are; null: the store applies what it appends.
  std::shared_ptr<read_models> models;
};

}  // namespace bc::actors
