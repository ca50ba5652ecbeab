#include "actors/discovery/discovery_attestor.hpp"

#include "events/command_kind.hpp"

namespace bc::actors {

namespace {

constexpr discovery_approval approvals[] = {
    discovery_approval::never, discovery_approval::unknown_machines,
    discovery_approval::always};

}  // namespace

std::string_view approval_text(discovery_approval a) noexcept {
  switch (a) {
    case discovery_approval::never:
      return "never";
    case discovery_approval::unknown_machines:
      return "unknown-machines";
    case discovery_approval::always:
      return "always";
  }
  return {};
}

std::optional<discovery_approval> parse_approval(
    std::string_view text) noexcept {
  for (auto a : approvals)
    if (approval_text(a) == text)
      return a;
  return std::nullopt;
}

std::vector<std::string> ramdisk_kinds() {
  return {std::string{events::kind_ping}, std::string{events::kind_inventory},
          "inspect.*", "deploy.*"};
}

}  // namespace bc::actors
