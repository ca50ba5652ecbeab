#pragma once

#include "base/result.hpp"
#include "events/journal.hpp"

#include <string>
#include <variant>

/// Refused joins and renewals, as the world may see them.
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
/// `security.renew.refused`: hashes and names, and of a node only what a caller
/// that proved its key is entitled to.
struct renew_refused {
  std::string reason;
  std::string node;        // id; empty until its key was proved
  std::string serial;      // of the certificate presented; hex or empty
  std::string csr_sha256;  // hex
  std::uint64_t suppressed = 0;
  bool operator==(const renew_refused&) const = default;
};
/// What stands in a renewal's event where a join has its attestor.
inline constexpr std::string_view renew_attestor = "renew";
using event = std::variant<refused, renew_refused>;

struct state {
  std::uint64_t version = 0;
};

[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

}  // namespace bc::events::refusal
