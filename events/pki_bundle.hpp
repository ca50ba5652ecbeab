#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <optional>
#include <string>
#include <variant>

/// The stream `pki`: the sealed key bundle of the deployment.
namespace bc::events::pki_bundle {

/// `pki.initialized`.
struct initialized {
  std::string trust_domain;
  std::string serving_ca_pin;
  std::string join_signing_pin;
  std::string join_encryption_pin;
  time_point at;
  std::string sealed;  // internal: pki::seal_bundle's text
  bool operator==(const initialized&) const = default;
};
using event = std::variant<initialized>;

struct state {
  std::uint64_t version = 0;
  std::optional<initialized> bundle;
};

[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

}  // namespace bc::events::pki_bundle
