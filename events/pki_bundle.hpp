#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The stream `pki`: the sealed key bundle of the deployment.
namespace bc::events::pki_bundle {

/// What machines are installed with, of the keys that are current.
struct pins {
  std::string serving_ca;
  std::string join_signing;
  std::string join_encryption;
  bool operator==(const pins&) const = default;
};

/// `pki.initialized`.
struct initialized {
  std::string trust_domain;
  pins current;
  time_point at;
  std::string sealed;  // internal: pki::seal_bundle's text
  bool operator==(const initialized&) const = default;
};

enum class step { prepared, activated, retired };
/// "prepared", "activated", "retired".
[[nodiscard]] std::string_view step_text(step s) noexcept;
[[nodiscard]] std::optional<step> parse_step(std::string_view text) noexcept;

/// `pki.rotated`: these keys went one step on (pki/rotation.hpp).
struct rotated {
  step what = step::prepared;
  std::vector<std::string> keys;  // "node-ca", …
  pins current;
  time_point at;
  std::string sealed;  // internal
  bool operator==(const rotated&) const = default;
};
using event = std::variant<initialized, rotated>;

struct state {
  std::uint64_t version = 0;
  /// With the pins and the sealed keys of the newest event.
  std::optional<initialized> bundle;
};

[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

}  // namespace bc::events::pki_bundle
