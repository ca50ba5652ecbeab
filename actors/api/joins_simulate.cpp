#include "actors/api/methods.hpp"
#include "actors/joining/judged_by.hpp"
#include "base/wire.hpp"
#include "events/rule_verdict.hpp"
#include "pki/hardware_key.hpp"

#include <algorithm>
#include <iterator>

// joins.simulate: the deciders of a join over a token's id and given claims.
// Nothing is written.
namespace bc::actors::api {

namespace {

using events::rule_verdict;
using events::verdict;
using events::join_token::state;

struct simulate_input {
  join_token_id token;
  wire::claims claims;
  std::optional<std::string> site;
  std::optional<pki::certificate_role> role;
  std::string attestor;
  std::string node;
};

result<wire::claims> read_claims(const json::reader& in) {
  wire::claims out;
  const std::pair<std::string_view, std::string*> texts[] = {
      {"productUuid", &out.product_uuid},
      {"productSerial", &out.product_serial},
      {"boardSerial", &out.board_serial},
      {"chassisSerial", &out.chassis_serial},
      {"hostname", &out.hostname}};
  for (const auto& [name, to] : texts) {
    BC_TRY(text, in.optional_text(name));
    *to = text.value_or("");
  }
  BC_TRY(macs, in.texts_or_none("macs"));
  BC_TRY(gpus, in.texts_or_none("gpuUuids"));
  out.macs = macs;
  out.gpu_uuids = gpus;
  return out;
}

result<simulate_input> read_input(const json::reader& in) {
  simulate_input out;
  BC_TRY(token, in.text("tokenId"));
  BC_TRY(id, join_token_id::parse(token));
  out.token = id;
  BC_TRY(claims, in.object("claims"));
  BC_TRY(read, read_claims(claims));
  out.claims = std::move(read);
  BC_TRY(site, in.optional_text("siteId"));
  out.site = site;
  BC_TRY(role, in.optional_text("role"));
  if (role) {
    out.role = pki::parse_role(*role);
    // The schema's `enum` compares hashes, so the text is read once more.
    if (!out.role)
      return fail(errc::invalid_input, "is no role", "/role");
  }
  BC_TRY(attestor, in.optional_text("attestor"));
  out.attestor = attestor.value_or("");
  BC_TRY(node, in.optional_text("nodeId"));
  out.node = node.value_or("");
  return out;
}

/// Rules in the order of a join, and how it would end.
struct simulation {
  std::vector<rule_verdict> rules;
  std::vector<std::string_view> unchecked;  // rules that need the machine
  std::optional<std::string> refused;       // the reason
  events::admitted_identity identity;
  std::string node;  // that would be taken back; empty: a new one
};

std::string text(events::refusal_reason r) {
  return std::string{events::text_of(r)};
}

// What the machine's own request decides, and what its token's id does.
void add_first_rules(simulation& s, std::string_view attestor) {
  using enum events::refusal_reason;
  const bool known = attestor.empty() || attestor == "join-token";
  for (auto r : {join_csr, join_token, token_malformed, token_secret_mismatch})
    s.unchecked.push_back(events::text_of(r));
  s.rules.push_back({text(join_csr), verdict::passed, "", ""});
  s.rules.push_back({text(join_attestor),
                     known ? verdict::passed : verdict::failed,
                     "attestor join-token",
                     attestor.empty() ? "join-token" : std::string{attestor}});
  s.rules.push_back({text(join_token), verdict::passed, "", ""});
  s.rules.push_back({text(token_malformed), verdict::passed, "", ""});
  s.rules.push_back({text(token_unknown), verdict::passed, "", ""});
  s.rules.push_back({text(token_secret_mismatch), verdict::passed, "", ""});
}

// Of rules judged apart, those after the first that failed were not reached.
void settle(simulation& s) {
  auto failed = std::ranges::find(s.rules, verdict::failed, &rule_verdict::how);
  if (failed == s.rules.end())
    return;
  s.refused = failed->rule;
  for (auto rule = std::next(failed); rule != s.rules.end(); ++rule)
    *rule = {rule->rule, verdict::not_reached, "", ""};
}

pki::hardware_claims machine_of(const exchange& x, const simulate_input& in) {
  return pki::without_shared(events::hardware_of(in.claims),
                             x.env->shared_uuids);
}

simulation simulate(const exchange& x, const simulate_input& in,
                    const state& of, const judged_by& by,
                    const pki::hardware_key& hardware) {
  const auto& token = *of.token;
  const auto now = x.streams->now();
  const auto role = in.role.value_or(
      events::join_token::admits(token.token_role, token.hosted.has_value()));
  simulation out;
  add_first_rules(out, in.attestor);
  for (auto& rule : events::token_verdicts(of, role, now))
    out.rules.push_back(std::move(rule));

  const events::admission admission{*by.granted,
                                    *by.tenant,
                                    *by.site,
                                    *by.pool,
                                    x.env->root_tenant,
                                    machine_of(x, in),
                                    hardware,
                                    in.site.value_or(token.site.str()),
                                    now,
                                    in.node,
                                    by.known.get(),
                                    by.named.get(),
                                    by.other.get(),
                                    nullptr,
                                    &x.env->shared_uuids};
  const auto ruling = events::judge(admission);
  for (const auto& rule : ruling.rules)
    out.rules.push_back(events::verdict_of(rule));
  settle(out);
  if (out.refused)
    return out;
  out.identity = events::identity_of(admission);
  if (by.known)
    out.node = by.known->node->id.str();
  return out;
}

std::string_view verdict_in(const simulation& s, const rule_verdict& rule) {
  const bool unchecked =
      rule.how == verdict::passed &&
      std::ranges::find(s.unchecked, rule.rule) != s.unchecked.end();
  return unchecked ? "not-checked" : events::verdict_text(rule.how);
}

void put_rules(json::writer& out, const simulation& s) {
  out.key("rules").begin_array();
  for (const auto& rule : s.rules) {
    out.begin_object()
        .field("rule", rule.rule)
        .field("verdict", verdict_in(s, rule));
    if (!rule.expected.empty())
      out.field("expected", rule.expected);
    if (!rule.presented.empty())
      out.field("presented", rule.presented);
    out.end_object();
  }
  out.end_array();
}

std::string text_of(const simulate_input& in, const simulation& s) {
  json::writer out;
  out.begin_object().field("tokenId", in.token.str());
  if (s.refused) {
    out.field("outcome", "refused").field("reason", *s.refused);
  } else {
    out.field("outcome", s.node.empty() ? "joined" : "reclaimed");
    if (!s.node.empty())
      out.field("nodeId", s.node);
    out.field("role", pki::role_text(s.identity.role))
        .field("trust", events::node::trust_text(s.identity.trust))
        .field("acceptance", s.identity.acceptance);
  }
  put_rules(out, s);
  return out.end_object().str();
}

void judge(exchange_ptr x, const simulate_input& in,
           const shared_state<state>& token) {
  if (!token->token || token->token->tenant != x->who.tenant)
    return x->refuse(errc::not_found, "No such join token");
  const auto hardware =
      pki::derive_hardware_key(pki::normalise(machine_of(*x, in)));
  read_judged_by(
      x->streams,
      std::make_shared<const events::grant>(events::grant_of(*token->token)),
      hardware, [x, in, token, hardware](result<judged_by> by) {
        if (by)
          return x->answer(
              text_of(in, simulate(*x, in, *token, by.value(), hardware)));
        if (by.error().code == errc::conflict)
          return x->retry([x] { joins_simulate(x); });
        x->break_off(by.error());
      });
}

}  // namespace

void joins_simulate(exchange_ptr x) {
  auto read = read_input(x->in());
  if (!read)
    return x->refuse(read.error());
  auto in = std::move(read).value();
  x->streams->token(in.token,
                    then(x, [x, in](const shared_state<state>& token) {
                      judge(x, in, token);
                    }));
}

}  // namespace bc::actors::api
