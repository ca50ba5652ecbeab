#include "actors/batches.hpp"
#include "actors/joining/issuing.hpp"
#include "actors/joining/key_fault.hpp"
#include "actors/renewing/renew_run.hpp"
#include "base/encoding.hpp"
#include "base/fault_point.hpp"
#include "events/refusal.hpp"
#include "events/streams.hpp"

#include <algorithm>
#include <variant>

// The decision, the one append, and what its rejection means.
namespace bc::actors {

using events::refusal_reason;

events::renewal renew_run::renewal() const {
  return {*node_,
          *presented_,
          as_bytes(call_.client_certificate),
          request_.client_time_ms,
          is_own_key(*keys_, csr_->key),
          decision_time()};
}

void renew_run::decide() {
  auto all = renewal();
  all.key_fault =
      key_fault_of(events::refusal::renew_attestor, presented_->cert.statements,
                   request_.attestation, request_.csr);
  const auto reason = events::judge(all);
  if (!reason)
    return renew();
  if (*reason == refusal_reason::renew_identity)
    return refuse_unknown(*reason, as_bytes(call_.client_certificate));
  refuse(*reason);
}

void renew_run::refuse_unknown(refusal_reason reason, byte_view certificate) {
  // What no CA of ours signed is no question of time; while the CA is rotated
  // there are two.
  const auto ours = pki::certificates_of(*keys_, pki::key_name::node_ca);
  if (std::ranges::none_of(ours, [certificate](const auto& ca) {
        return pki::is_signed_by(certificate, ca);
      }))
    return refuse(reason);
  confirming_ = reason;
  streams_->append(
      confirm_node(*node_id_, node_->version, correlation_, decision_time()),
      then(&renew_run::on_confirmed));
}

void renew_run::on_confirmed(events::append_outcome outcome) {
  if (const auto* why = std::get_if<events::rejected>(&outcome))
    return try_again(why->time);
  refuse(confirming_);
}

void renew_run::renew() {
  if (hit(fault_point::renew_before_append) == fault_action::error)
    return unavailable();
  auto batch = plan(decision_time());
  if (!batch)
    return unavailable();
  streams_->append(std::move(batch).value(), then(&renew_run::on_appended));
}

result<events::batch> renew_run::plan(time_point now) {
  const auto& joined = *node_->node;
  const auto& before = presented_->cert;
  auto issued =
      issue(*keys_,
            {csr_->key, csr_sha256_, joined.site, joined.id, before.role,
             before.statements,
             joined.ek_hash.empty()
                 ? env_->certificate_lifetime
                 : std::min(env_->certificate_lifetime, env_->tpm_lifetime)},
            pki::purpose::renew_response, now);
  issued.certificate.allowed_kinds = before.allowed_kinds;
  new_answer_ = issued.answer;
  const auto proof = to_hex(pki::sha256(request_.pop_signature));
  const auto spki = issued.certificate.spki_sha256;
  BC_TRY(decided, events::node::decide(
                      *node_, events::node::renew{
                                  {joined.id, joined.tenant,
                                   std::move(issued.certificate), before.serial,
                                   now, proof, std::move(issued.answer.text),
                                   std::move(issued.answer.signature)}}));
  auto out = machine_batch(correlation_, now);
  out.answers_free = answers_free();
  out.writes.push_back({events::stream_of(joined.id), joined.tenant.str(),
                        node_->version, encoded(decided)});
  // Free, not this node's own: a proof and a key are used once.
  out.claims = {{events::node::proof_claim(proof), {}},
                {events::node::spki_claim(spki), {}}};
  out.valid_until = events::may_renew_until(renewal());
  return out;
}

void renew_run::on_appended(events::append_outcome outcome) {
  if (const auto* why = std::get_if<events::rejected>(&outcome))
    return on_rejected(*why);
  if (hit(fault_point::renew_after_append) == fault_action::error)
    return unavailable();
  give(std::move(new_answer_));
}

void renew_run::on_rejected(const events::rejected& why) {
  using events::unmet;
  set_store_time(why.time);
  if (why.why == unmet::answer && why.holder)
    return give_stored(*why.holder, &renew_run::retry);
  if (why.why == unmet::claim)
    if (auto reason = events::renewal_claim_refusal(why.subject))
      return refuse(*reason);
  try_again(why.time);
}

}  // namespace bc::actors
