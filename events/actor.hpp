#pragma once

#include "base/ids.hpp"

#include <optional>
#include <string>
#include <string_view>

/// Who is said to have done what, in an envelope's `actor`: a part of the
/// row's hash, and of every export.
namespace bc::events {

inline constexpr std::string_view machine_actor = "machine";  // a join
inline constexpr std::string_view system_actor = "system";    // of itself

/// Whoever made a credential chose the name of its principal, so a caller is
/// named by tenant and credential besides.
struct actor_name {
  std::string principal;                  // or machine_actor, or system_actor
  std::optional<std::string> tenant;      // of a caller
  std::optional<std::string> credential;  // its id
  bool operator==(const actor_name&) const = default;
};

/// "<tenant>/<credential>/<principal>".
[[nodiscard]] std::string actor_text(const tenant_id& tenant,
                                     const credential_id& credential,
                                     std::string_view principal);
/// Any other text is a principal alone.
[[nodiscard]] actor_name parse_actor(std::string_view text);

}  // namespace bc::events
