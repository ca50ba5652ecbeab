#include "actors/batches.hpp"
#include "actors/joining/issuing.hpp"
#include "actors/joining/key_fault.hpp"
#include "actors/rejoining/rejoin_run.hpp"
#include "base/encoding.hpp"
#include "base/fault_point.hpp"
#include "events/streams.hpp"
#include "pki/tpm/challenge.hpp"

#include <algorithm>
#include <variant>

// The decision, the one append, and what its rejection means.
namespace bc::actors {

using events::refusal_reason;

void rejoin_run::decide() {
  const auto reason = events::judge(events::rejoining{
      *node_, *presented_, *pool_, *site_, role_, request_.site_id,
      hardware_.hex, is_own_key(*keys_, csr_->key), decision_time(),
      key_fault_of(wire::x509pop_attestor, presented_->cert.statements,
                   request_.x509pop->attestation, request_.csr)});
  if (!reason)
    return admit();
  if (events::may_be_undone(*reason))
    return confirm(*reason);
  refuse(*reason);
}

void rejoin_run::pin_place(events::batch& to) const {
  if (node_->node->pool)
    to.writes.push_back(
        pin(events::stream_of(*node_->node->pool), pool_->version));
  to.writes.push_back(
      pin(events::stream_of(node_->node->site), site_->version));
}

void rejoin_run::confirm(refusal_reason reason) {
  confirming_ = reason;
  auto b =
      confirm_node(*node_id_, node_->version, correlation_, decision_time());
  pin_place(b);
  b.answers_free = answers_free();
  streams_->append(std::move(b), then(&rejoin_run::on_confirmed));
}

void rejoin_run::refuse_unknown() {
  confirming_ = refusal_reason::x509pop_unknown_certificate;
  // What no CA of ours signed is no question of time; while the CA is rotated
  // there are two.
  const auto ours = pki::certificates_of(*keys_, pki::key_name::node_ca);
  if (std::ranges::none_of(ours, [this](const auto& ca) {
        return pki::is_signed_by(leaf(), ca);
      }))
    return refuse(confirming_);
  streams_->append(
      confirm_node(*node_id_, node_->version, correlation_, decision_time()),
      then(&rejoin_run::on_confirmed));
}

void rejoin_run::on_confirmed(events::append_outcome outcome) {
  if (const auto* why = std::get_if<events::rejected>(&outcome))
    return on_rejected(*why);
  refuse(confirming_);
}

void rejoin_run::admit() {
  if (hit(fault_point::rejoin_before_append) == fault_action::error)
    return unavailable();
  auto batch = plan(decision_time());
  if (!batch)
    return unavailable();
  streams_->append(std::move(batch).value(), then(&rejoin_run::on_appended));
}

result<events::batch> rejoin_run::plan(time_point now) {
  const auto& known = *node_->node;
  const auto& before = presented_->cert;
  auto issued = issue(
      *keys_,
      {csr_->key, csr_sha256_, known.site, known.id, before.role,
       before.statements,
       known.ek_hash.empty() || !env_->tpm
           ? env_->certificate_lifetime
           : std::min(env_->certificate_lifetime, env_->tpm->max_lifetime)},
      pki::purpose::join_response, now);
  issued.certificate.allowed_kinds = before.allowed_kinds;
  new_answer_ = issued.answer;
  const auto spki = issued.certificate.spki_sha256;
  events::node::joined what;
  what.id = known.id;
  what.attestor = wire::x509pop_attestor;
  what.cert = std::move(issued.certificate);
  what.at = now;
  what.claims = request_.hardware;
  what.answer_subject = known.id.str();
  what.answer_body = std::move(issued.answer.text);
  what.answer_signature = std::move(issued.answer.signature);
  what.proof_sha256 =
      to_hex(pki::tpm::challenge_proof(what.attestor, request_.x509pop->nonce));
  const auto proof = what.proof_sha256;
  BC_TRY(decided,
         events::node::decide(*node_, events::node::rejoin{std::move(what)}));
  auto out = machine_batch(correlation_, now);
  out.answers_free = answers_free();
  out.writes.push_back({events::stream_of(known.id), known.tenant.str(),
                        node_->version, encoded(decided)});
  pin_place(out);
  // Free, not this node's own: a challenge and a key are used once.
  out.claims = {{events::node::proof_claim(proof), {}},
                {events::node::spki_claim(spki), {}}};
  out.valid_until = std::min(events::may_rejoin_until(*presented_),
                             from_millis(request_.x509pop->expires_ms));
  return out;
}

void rejoin_run::on_appended(events::append_outcome outcome) {
  if (const auto* why = std::get_if<events::rejected>(&outcome))
    return on_rejected(*why);
  if (hit(fault_point::rejoin_after_append) == fault_action::error)
    return unavailable();
  give(std::move(new_answer_));
}

void rejoin_run::on_rejected(const events::rejected& why) {
  using events::unmet;
  set_store_time(why.time);
  if (why.why == unmet::answer && why.holder)
    return give_stored(*why.holder, &rejoin_run::retry);
  if (why.why == unmet::claim)
    if (auto reason = events::rejoin_claim_refusal(why.subject))
      return refuse(*reason);
  try_again(why.time);
}

void rejoin_run::again() {
  // Judged by the store's clock from here on, the challenge too.
  if (auto reason = check_challenge())
    return refuse(*reason);
  load_node();
}

}  // namespace bc::actors
