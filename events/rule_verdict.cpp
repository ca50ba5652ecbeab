#include "events/rule_verdict.hpp"

#include <utility>

namespace bc::events {

namespace {

std::string roles_of(const join_token::created& t) {
  using join_token::admits;
  std::string out{pki::role_text(admits(t.token_role, false))};
  if (t.hosted)
    out.append(" or ").append(pki::role_text(admits(t.token_role, true)));
  return out;
}

std::string uses_text(const join_token::state& s) {
  return std::to_string(s.uses_left) + " of " +
         std::to_string(s.token->max_uses) + " left";
}

}  // namespace

std::vector<rule_verdict> token_verdicts(const join_token::state& s,
                                         pki::certificate_role asked,
                                         time_point now) {
  struct row {
    refusal_reason reason;
    std::string expected, presented;
  };
  const auto& t = *s.token;
  const row rows[] = {
      {refusal_reason::token_revoked, "a token that is not revoked",
       s.revoked_at ? "revoked at " + to_rfc3339(*s.revoked_at)
                    : "not revoked"},
      {refusal_reason::token_expired, "before " + to_rfc3339(t.expires_at),
       to_rfc3339(now)},
      {refusal_reason::token_exhausted, "a use left", uses_text(s)},
      {refusal_reason::token_role_mismatch, "role " + roles_of(t),
       "role " + std::string{pki::role_text(asked)}},
  };
  const auto refused = join_token::check_usable(s, asked, now);
  std::vector<rule_verdict> out;
  bool reached = true;
  for (const auto& r : rows) {
    auto& rule = out.emplace_back(rule_verdict{std::string{text_of(r.reason)}});
    if (!reached)
      continue;
    reached = refused != r.reason;
    rule.how = reached ? verdict::passed : verdict::failed;
    rule.expected = r.expected;
    rule.presented = r.presented;
  }
  return out;
}

rule_verdict verdict_of(const judged_rule& r) {
  return {"join:" + std::string{rule_text(r.what)}, r.how, r.expected,
          r.presented};
}

}  // namespace bc::events
