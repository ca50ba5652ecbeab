#pragma once

#include "base/wire.hpp"
#include "events/rule_verdict.hpp"
#include "pki/hardware_key.hpp"

#include <optional>
#include <string>

namespace bc::actors {

/// A join that was refused after it proved to be a tenant's.
struct refused_attempt {
  std::optional<pool_id> pool;
  const wire::join_request& request;
  const pki::hardware_claims& claims;  // what the key is derived from
  const pki::hardware_key& hardware;
  std::optional<events::rule_verdict> compared;
};

/// What was compared, as the index of refusals keeps it for that tenant
/// alone (events/refused_join.hpp): a JSON object of at most a few KiB.
[[nodiscard]] std::string refusal_details(const refused_attempt& a);

/// The machine's identifiers in such an object.
[[nodiscard]] pki::identifiers identifiers_in(const std::string& details);

}  // namespace bc::actors
