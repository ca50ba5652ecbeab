#pragma once

#include "base/wire.hpp"
#include "events/rule_verdict.hpp"
#include "pki/hardware_key.hpp"

#include <optional>
#include <string>

namespace bc::actors {

/// A join that was refused after its token's secret verified.
struct refused_attempt {
  events::refusal_reason reason;
  const events::join_token::state& token;
  const wire::join_request& request;
  pki::certificate_role asked;
  const pki::hardware_claims& claims;  // what the key is derived from
  const pki::hardware_key& hardware;
  const std::optional<events::judged_rule>& failed;  // of the admission
  time_point now;
};

/// What was compared, as the index of refusals keeps it for the token's tenant
/// alone (events/refused_join.hpp): a JSON object of at most a few KiB.
[[nodiscard]] std::string refusal_details(const refused_attempt& a);

/// The machine's identifiers in such an object.
[[nodiscard]] pki::identifiers identifiers_in(const std::string& details);

}  // namespace bc::actors
