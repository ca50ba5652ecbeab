#pragma once

#include "events/admission.hpp"

#include <string>
#include <vector>

/// What became of each rule of a join, for joins.simulate and joins.explain.
namespace bc::events {

/// One rule and what it compared, for the eyes of the token's tenant alone.
struct rule_verdict {
  std::string rule;  // the wire text of its reason: "join-token:expired"
  verdict how = verdict::not_reached;
  std::string expected = {};   // empty: nothing was asked for
  std::string presented = {};  // empty: nothing was shown
  bool operator==(const rule_verdict&) const = default;
};

/// check_usable(), rule by rule: revoked, expired, exhausted, role-mismatch.
/// For a token that exists.
[[nodiscard]] std::vector<rule_verdict> token_verdicts(
    const join_token::state& s, pki::certificate_role asked, time_point now);

[[nodiscard]] rule_verdict verdict_of(const judged_rule& r);

}  // namespace bc::events
