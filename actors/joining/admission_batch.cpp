#include "actors/joining/admission_batch.hpp"

#include "actors/batches.hpp"
#include "actors/joining/issuing.hpp"
#include "base/encoding.hpp"
#include "events/node.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

#include <utility>

namespace bc::actors {

namespace {

void pin_directory(events::batch& to, const judged_by& judged) {
  const auto& token = *judged.token->token;
  if (token.pool)
    to.writes.push_back(
        pin(events::stream_of(*token.pool), judged.pool->version));
  to.writes.push_back(pin(events::stream_of(token.site), judged.site->version));
  to.writes.push_back(
      pin(events::stream_of(token.tenant), judged.tenant->version));
}

// What the token's node is, when it is not the known one.
void pin_named(events::batch& to, const judged_by& judged) {
  const auto& name = judged.token->token->node;
  if (!judged.named || (judged.known && judged.known->node->id == *name))
    return;
  to.writes.push_back(pin(events::stream_of(*name), judged.named->version));
}

std::vector<events::node::event> told_of_clone(const events::node::state& node,
                                               time_point now) {
  auto decided = events::node::decide(node, events::node::suspect_clone{now});
  return decided ? std::move(decided).value()
                 : std::vector<events::node::event>{};
}

node_id node_for(const judged_by& judged, time_point now) {
  if (judged.known)
    return judged.known->node->id;
  const auto& named = judged.token->token->node;
  return named ? *named : pki::mint<node_id>(now);
}

events::node::joined joined_of(const events::join_token::created& token,
                               const admitted_machine& m, const node_id& node,
                               events::node::certificate certificate,
                               const signed_text& answer, time_point now) {
  events::node::joined out;
  out.id = node;
  out.tenant = token.tenant;
  out.site = token.site;
  out.pool = token.pool;
  out.attestor = "join-token";
  out.hardware_key = m.hardware.hex;
  out.hardware_key_trusted = m.hardware.names_a_machine();
  out.hardware_changed = m.identity.hardware_changed;
  out.node_trust = m.identity.trust;
  out.acceptance = m.identity.acceptance;
  out.token = token.id.str();
  out.cert = std::move(certificate);
  out.at = now;
  out.claims = m.request.hardware;
  out.answer_subject = token.id.str();
  out.answer_body = answer.text;
  out.answer_signature = answer.signature;
  return out;
}

}  // namespace

std::string answer_claim_of(const join_token_id& token,
                            const pki::sha256_digest& csr) {
  return events::node::answer_claim(token.str(), to_hex(csr));
}

result<admission_plan> plan_admission(const pki::key_bundle& keys,
                                      seconds certificate_lifetime,
                                      const judged_by& judged,
                                      const admitted_machine& m,
                                      std::string correlation, time_point now) {
  const auto& token = *judged.token->token;
  const auto node = node_for(judged, now);
  const events::node::state nobody;
  const auto& before = judged.known ? *judged.known : nobody;
  auto issued = issue(keys,
                      {m.key,
                       m.csr_sha256,
                       token.site,
                       node,
                       m.identity.role,
                       {},
                       certificate_lifetime},
                      pki::purpose::join_response, now);
  BC_TRY(decided, events::node::decide(
                      before, events::node::join{joined_of(
                                  token, m, node, std::move(issued.certificate),
                                  issued.answer, now)}));

  auto out = machine_batch(std::move(correlation), now);
  out.answers_free = {answer_claim_of(token.id, m.csr_sha256)};
  out.writes.push_back(
      {events::stream_of(token.id),
       token.tenant.str(),
       std::nullopt,
       {events::join_token::encode(events::join_token::redeemed{
           token.id, node, to_hex(m.csr_sha256)})}});
  out.writes.push_back({events::stream_of(node), token.tenant.str(),
                        before.version, encoded(decided)});
  pin_directory(out, judged);
  out.valid_until = token.expires_at;
  return admission_plan{std::move(out), std::move(issued.answer)};
}

events::batch confirm_refusal(const judged_by& judged, bool tell_of_clone,
                              std::string correlation, time_point now) {
  auto out = machine_batch(std::move(correlation), now);
  pin_directory(out, judged);
  if (judged.known) {
    auto& known = out.writes.emplace_back(
        pin(events::stream_of(judged.known->node->id), judged.known->version));
    if (tell_of_clone)
      known.events = encoded(told_of_clone(*judged.known, now));
    if (!known.events.empty())
      known.tenant = judged.known->node->tenant.str();
  }
  pin_named(out, judged);
  return out;
}

}  // namespace bc::actors
