#pragma once

#include "base/result.hpp"
#include "events/journal.hpp"

#include <string>
#include <variant>

/// Refused joins, as the world may see them.
namespace bc::events::refusal {

/// `security.join.refused`: hashes only.
struct refused {
  std::string attestor;
  std::string reason;
  std::string role;
  std::string csr_sha256;    // hex
  std::string hardware_key;  // hex or empty
  std::uint64_t suppressed = 0;
  bool operator==(const refused&) const = default;
};
using event = std::variant<refused>;

struct state {
  std::uint64_t version = 0;
};

[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

}  // namespace bc::events::refusal
