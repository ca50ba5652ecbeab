#pragma once

#include "actors/discovery/discovery_attestor.hpp"
#include "base/result.hpp"
#include "ops/serve/options.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bc::serve {

/// [attestors.discovery] of `better-compute serve`.
struct discovery_settings {
  bool enabled = false;
  std::string approval = "unknown-machines";
  std::map<std::string, std::string> pools;  // site: pool
  std::vector<std::string> allowed_kinds = actors::ramdisk_kinds();
  seconds pending_ttl{86'400};
  std::int64_t pending_places = 1000;
  seconds boot_lease = events::boot_lease::default_ttl;
};

void add_options(std::vector<option>& to, discovery_settings& s);

/// What is wrong with the values alone, a line each.
[[nodiscard]] std::vector<std::string> problems_of(const discovery_settings& s);

/// The attestor, of settings without problems; nothing when it is not enabled.
[[nodiscard]] result<std::optional<actors::discovery_attestor>> attestor_of(
    const discovery_settings& s);

}  // namespace bc::serve
