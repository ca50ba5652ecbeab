#pragma once

#include "base/clock.hpp"
#include "events/directory.hpp"
#include "events/join_token.hpp"
#include "events/node.hpp"
#include "events/refusal_reason.hpp"
#include "pki/hardware_key.hpp"

#include <optional>
#include <string>

/// The decision of a join over the streams it touches; pure (spec:
/// joining#the-join-flow step 4).
namespace bc::events {

struct admission {
  const join_token::state& token;  // secret verified, usable
  const tenant::state& tenant;
  const site::state& site;
  const pool::state& pool;
  pki::hardware_claims claims;
  pki::hardware_key key;
  /// Who holds the trusted hardware key now: a node, or nobody.
  std::optional<std::string> hardware_holder;
  std::string claimed_site;
};

/// The rules after the attestor's, in the specified order: expect, placeholder
/// hardware, reclaim, pool, tenant, site. nullopt: admitted as a new node.
[[nodiscard]] std::optional<refusal_reason> judge(const admission& a);

}  // namespace bc::events
