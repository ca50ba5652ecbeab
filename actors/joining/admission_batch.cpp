#include "actors/joining/admission_batch.hpp"

#include "actors/batches.hpp"
#include "actors/joining/issuing.hpp"
#include "base/encoding.hpp"
#include "events/node.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"

#include <algorithm>
#include <utility>

namespace bc::actors {

namespace {

void pin_directory(events::batch& to, const judged_by& judged) {
  const auto& g = *judged.granted;
  if (g.pool)
    to.writes.push_back(pin(events::stream_of(*g.pool), judged.pool->version));
  to.writes.push_back(pin(events::stream_of(g.site), judged.site->version));
  to.writes.push_back(pin(events::stream_of(g.tenant), judged.tenant->version));
}

// What the grant's node is, when it is not the known one.
void pin_named(events::batch& to, const judged_by& judged) {
  const auto& name = judged.granted->node;
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
  const auto& named = judged.granted->node;
  return named ? *named : pki::mint<node_id>(now);
}

events::node::joined joined_of(const events::grant& g,
                               const admitted_machine& m, const node_id& node,
                               events::node::certificate certificate,
                               const signed_text& answer, time_point now) {
  events::node::joined out;
  out.id = node;
  out.tenant = g.tenant;
  out.site = g.site;
  out.pool = g.pool;
  out.attestor = g.attestor;
  out.node_key = g.statements.empty() ? "unattested" : "tpm";
  out.ek_hash = g.ek_hash;
  out.proof_sha256 = g.proof_sha256;
  out.hardware_key = m.hardware.hex;
  out.hardware_key_trusted = m.hardware.names_a_machine();
  out.hardware_changed = m.identity.hardware_changed;
  out.changed_identifiers = m.identity.changed_identifiers;
  out.node_trust = m.identity.trust;
  out.acceptance = m.identity.acceptance;
  out.token = g.token ? g.token->str() : std::string{};
  out.cert = std::move(certificate);
  out.at = now;
  out.claims = m.request.hardware;
  out.answer_subject = m.answer_subject;
  out.answer_body = answer.text;
  out.answer_signature = answer.signature;
  return out;
}

}  // namespace

result<admission_plan> plan_admission(const pki::key_bundle& keys,
                                      seconds certificate_lifetime,
                                      const judged_by& judged,
                                      const admitted_machine& m,
                                      const spend_for& spend,
                                      std::string correlation, time_point now) {
  const auto& g = *judged.granted;
  const auto node = node_for(judged, now);
  BC_TRY(spent, spend(node));
  const events::node::state nobody;
  const auto& before = judged.known ? *judged.known : nobody;
  auto issued =
      issue(keys,
            {m.key, m.csr_sha256, g.site, node, m.identity.role, g.statements,
             std::min(certificate_lifetime, g.max_lifetime)},
            pki::purpose::join_response, now);
  issued.certificate.allowed_kinds = g.allowed_kinds;
  BC_TRY(decided, events::node::decide(
                      before, events::node::join{joined_of(
                                  g, m, node, std::move(issued.certificate),
                                  issued.answer, now)}));

  auto out = machine_batch(std::move(correlation), now);
  out.answers_free = {
      events::node::answer_claim(m.answer_subject, to_hex(m.csr_sha256))};
  out.writes = std::move(spent.writes);
  out.writes.push_back({events::stream_of(node), g.tenant.str(), before.version,
                        encoded(decided)});
  pin_directory(out, judged);
  out.claims = std::move(spent.claims);
  // Free, not this node's own: it counts once.
  if (!g.proof_sha256.empty())
    out.claims.push_back({events::node::proof_claim(g.proof_sha256), {}});
  out.valid_until = spent.until;
  return admission_plan{std::move(out), std::move(issued.answer)};
}

events::batch confirm_refusal(const judged_by& judged, bool tell_of_clone,
                              std::string correlation, time_point now) {
  auto out = machine_batch(std::move(correlation), now);
  pin_directory(out, judged);
  const auto& ek = judged.granted->ek_hash;
  if (!ek.empty() &&
      !(judged.known && events::node::is_bound_to(*judged.known, ek)))
    out.claims.push_back({events::node::ek_claim(ek), {}});
  if (judged.known) {
    auto& known = out.writes.emplace_back(
        pin(events::stream_of(judged.known->node->id), judged.known->version));
    if (tell_of_clone)
      known.events = encoded(told_of_clone(*judged.known, now));
    if (!known.events.empty())
      known.tenant = judged.known->node->tenant.str();
  }
  pin_named(out, judged);
  if (judged.other)
    out.writes.push_back(
        pin(events::stream_of(judged.other->node->id), judged.other->version));
  return out;
}

}  // namespace bc::actors
