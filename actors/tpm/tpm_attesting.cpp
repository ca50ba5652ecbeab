#include "actors/tpm/tpm_attesting.hpp"

#include "actors/claim_owner.hpp"
#include "actors/joining/key_fault.hpp"
#include "actors/tpm/tpm_run.hpp"
#include "base/encoding.hpp"
#include "pki/claims_digest.hpp"
#include "pki/tpm/challenge.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace bc::actors {

using events::refusal_reason;

namespace {

pki::tpm::evidence evidence_of(const wire::tpm_evidence& sent) {
  pki::tpm::evidence out;
  out.repeated.kid = sent.kid;
  std::ranges::copy(sent.nonce, out.repeated.nonce.begin());
  out.repeated.expires_at = from_millis(sent.expires_ms);
  out.activation = sent.activation;
  out.ek_public = sent.ek_public;
  out.ek_certificate = sent.ek_certificate;
  out.ek_chain = sent.ek_chain;
  out.ak_public = sent.ak_public;
  out.node_key_public = sent.node_key_public;
  out.certify_info = sent.certify_info;
  out.certify_signature = sent.certify_signature;
  return out;
}

}  // namespace

std::optional<refusal_reason> tpm_run::open(time_point now) {
  const auto& request = facts_->request;
  if (!request.tpm)
    return refusal_reason::tpm_malformed;
  const auto keys = pki::tpm::challenge_keys(*facts_->env->keys);
  auto verdict = pki::tpm::judge(
      evidence_of(*request.tpm), settings_.judge,
      {facts_->role, request.csr, pki::claims_digest(request), keys, now});
  if (const auto* fault = std::get_if<pki::tpm::code>(&verdict))
    return reason_of(name(), *fault);
  proved_ = std::move(std::get<pki::tpm::admitted>(verdict));
  return std::nullopt;
}

void tpm_run::prove(time_point now,
                    reply_to<std::optional<refusal_reason>> done) {
  bound_ = nullptr;
  pool_.reset();
  // Whoever proved an EK that no tenant knows may want to be allowed: the root
  // tenant is told which it is.
  owner_ = facts_->env->root_tenant;
  // When it is judged again, it is by the store's clock.
  if (challenge_ends() <= now)
    return done(std::optional{refusal_reason::tpm_challenge_expired});
  prove_done_ = std::move(done);
  facts_->streams->holder(events::node::ek_claim(ek_hash()),
                          while_proving(&tpm_run::on_ek_holder));
}

void tpm_run::on_ek_holder(std::optional<events::claim_holder> holder) {
  if (!holder)
    return find_allowed();
  auto id = owner_of<node_id>(*holder);
  if (!id)
    return proved(fail(errc::internal, "An EK's claim is no node's"));
  facts_->streams->node(*id, while_proving(&tpm_run::on_bound));
}

void tpm_run::on_bound(shared_node node) {
  if (events::node::is_bound_to(*node, ek_hash())) {
    owner_ = node->node->tenant;
    pool_ = node->node->pool;
    bound_ = std::move(node);
  }
  find_allowed();
}

void tpm_run::find_allowed() {
  auto found = settings_.allowed.find(ek_hash());
  if (found == settings_.allowed.end())
    return proved(std::optional<refusal_reason>{});
  pool_ = found->second;
  facts_->streams->pool(*pool_, while_proving(&tpm_run::on_allowed));
}

void tpm_run::on_allowed(shared_pool pool) {
  if (pool->pool)
    owner_ = pool->pool->tenant;
  proved(std::optional<refusal_reason>{});
}

void tpm_run::proved(result<std::optional<refusal_reason>> how) {
  auto done = std::exchange(prove_done_, nullptr);
  done(std::move(how));
}

std::optional<refusal_reason> tpm_run::claim_refusal(
    std::string_view claim) const {
  return claim == events::node::proof_claim(proof_sha256())
             ? std::optional{refusal_reason::tpm_challenge_replayed}
             : std::nullopt;
}

std::string tpm_run::proof_sha256() const {
  return to_hex(pki::tpm::challenge_proof(name(), facts_->request.tpm->nonce));
}

std::optional<events::rule_verdict> tpm_run::compared(refusal_reason reason,
                                                      time_point) const {
  if (!proved_)
    return std::nullopt;
  events::rule_verdict out;
  out.rule = events::text_of(reason);
  out.how = events::verdict::failed;
  if (reason == refusal_reason::tpm_ek_unknown)
    out.expected = "an EK that is allowed, bound to a node, or approved";
  if (reason == refusal_reason::join_expect)
    out.expected = "node of this EK, or none named";
  out.presented = "EK " + ek_hash() + ", certificate " +
                  std::string{text_of(proved_->ek_certificate)};
  return out;
}

std::shared_ptr<attesting> make_tpm_attesting(
    std::shared_ptr<const join_facts> facts) {
  return std::make_shared<tpm_run>(std::move(facts));
}

}  // namespace bc::actors
