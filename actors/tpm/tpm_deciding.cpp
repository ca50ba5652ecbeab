#include "actors/batches.hpp"
#include "actors/joining/key_fault.hpp"
#include "actors/tpm/tpm_run.hpp"
#include "base/encoding.hpp"
#include "events/streams.hpp"

#include <algorithm>
#include <utility>
#include <variant>

// Whether a proved EK may join, and where (spec: ATTESTATION section 2.6).
namespace bc::actors {

using events::refusal_reason;

namespace {

namespace request = events::join_request;
using pki::tpm::ek_certificate_state;

// Another attempt changed what this rests on.
events::rejected moved(time_point now) {
  return {events::unmet::claim, {}, std::nullopt, std::nullopt, now};
}

request::ek_certificate certificate_of(ek_certificate_state s) {
  switch (s) {
    case ek_certificate_state::verified:
      return request::ek_certificate::verified;
    case ek_certificate_state::unverified:
      return request::ek_certificate::unverified;
    case ek_certificate_state::absent:
      return request::ek_certificate::absent;
  }
  return request::ek_certificate::absent;
}

}  // namespace

void tpm_run::decide(time_point now, reply_to<attested> done) {
  now_ = now;
  decide_done_ = std::move(done);
  request_ = nullptr;
  facts_->streams->holder(events::node::proof_claim(proof_sha256()),
                          then(&tpm_run::on_proof_holder));
}

void tpm_run::on_proof_holder(std::optional<events::claim_holder> holder) {
  if (!holder || (holder->expires_at && *holder->expires_at <= now_))
    return choose();
  // By this very request perhaps, sent twice: then its answer was written since
  // it was looked for. One that is void is no answer.
  if (std::exchange(replayed_at_, holder->position) != holder->position)
    return decided(moved(now_));
  decided(refusal_reason::tpm_challenge_replayed);
}

// A node whose identity an operator revoked does not come back by itself: a
// compromised machine has its own TPM too. Whoever allows its EK may.
void tpm_run::choose() {
  auto allowed = settings_.allowed.find(ek_hash());
  if (allowed != settings_.allowed.end())
    return into(allowed->second);
  if (bound_ && !events::node::is_identity_revoked(*bound_))
    return take_back();
  if (const auto* pool = pool_for_verified())
    return into(*pool);
  if (settings_.enrollment)
    return enroll();
  refuse_unknown();
}

const pool_id* tpm_run::pool_for_verified() const {
  auto site = site_id::parse(facts_->request.site_id);
  if (!site || proved_->ek_certificate != ek_certificate_state::verified)
    return nullptr;
  auto found = settings_.admit_verified.find(site.value());
  return found == settings_.admit_verified.end() ? nullptr : &found->second;
}

void tpm_run::take_back() {
  auto out = new_grant();
  out->tenant = bound_->node->tenant;
  out->site = bound_->node->site;
  out->pool = bound_->node->pool;
  // Revoked, or another's, it is no leave any more.
  out->by_node = events::grant::seen_node{bound_->node->id, bound_->version};
  decided(attested{std::move(out)});
}

void tpm_run::into(const pool_id& pool) {
  pool_ = pool;
  facts_->streams->pool(pool, then(&tpm_run::on_pool));
}

void tpm_run::on_pool(shared_pool pool) {
  if (!pool->pool) {
    auto b = confirmation();
    b.writes.push_back(pin(events::stream_of(*pool_), pool->version));
    return confirm(refusal_reason::join_pool, std::move(b));
  }
  auto out = new_grant();
  out->tenant = pool->pool->tenant;
  out->site = pool->pool->site;
  out->pool = pool->pool->id;
  if (request_)
    owner_ = approved_by_ = pool->pool->tenant;
  decided(attested{std::move(out)});
}

void tpm_run::refuse_unknown() {
  // Where any verified EK is let in, what its certificate fails by is the
  // reason.
  auto site = site_id::parse(facts_->request.site_id);
  const bool wants_certificate =
      site && settings_.admit_verified.contains(site.value()) &&
      proved_->ek_certificate_fault;
  confirm(wants_certificate ? reason_of(name(), *proved_->ek_certificate_fault)
                            : refusal_reason::tpm_ek_unknown,
          confirmation());
}

void tpm_run::enroll() {
  auto site = site_id::parse(facts_->request.site_id);
  if (!site)
    return decided(refusal_reason::join_site);
  // Nobody need approve what is refused all the same.
  const auto& named = facts_->request.node_id;
  if (!named.empty() && !(bound_ && bound_->node->id.str() == named))
    return confirm(refusal_reason::join_expect, confirmation());
  facts_->streams->site(site.value(), then(&tpm_run::on_site));
}

void tpm_run::on_site(shared_state<events::site::state> site) {
  site_ = std::move(site);
  const auto claimed = site_id::parse(facts_->request.site_id).value();
  const auto as_read = pin(events::stream_of(claimed), site_->version);
  if (!site_->site || site_->deleted_at) {
    auto b = confirmation();
    b.writes.push_back(as_read);
    return confirm(refusal_reason::join_site, std::move(b));
  }
  deferral_order order;
  order.site = claimed;
  order.tenant = site_->site->owner;
  order.attestor = name();
  order.subject = subject();
  order.seen = sighting();
  // A TPM in software could have made the others (ATTESTATION 9h).
  order.takes_place = proved_->ek_certificate != ek_certificate_state::verified;
  // Whose EK it is was read too: a machine that joined meanwhile asks nobody.
  auto rests_on = confirmation();
  order.pins = std::move(rests_on.writes);
  order.pins.push_back(as_read);
  order.claims = std::move(rests_on.claims);
  order.correlation = facts_->correlation;
  order.models = settings_.models;
  deferral_limits limits;
  limits.pending_for = settings_.enrollment->pending_for;
  limits.places = settings_.enrollment->pending_places;
  defer_join(facts_->streams, std::move(order), limits,
             then(&tpm_run::on_deferral));
}

void tpm_run::on_deferral(deferral_outcome outcome) {
  if (auto* wait = std::get_if<deferral>(&outcome))
    return decided(attested{std::move(*wait)});
  if (auto* why = std::get_if<events::rejected>(&outcome))
    return decided(attested{std::move(*why)});
  if (const auto* no = std::get_if<deferral_refusal>(&outcome))
    return decided(*no == deferral_refusal::rejected
                       ? refusal_reason::tpm_ek_request_rejected
                       : refusal_reason::tpm_enrollment_full);
  request_ = std::move(std::get<approved_request>(outcome).request);
  into(*request_->request->pool);
}

request::sighting tpm_run::sighting() const {
  request::sighting out;
  out.csr_sha256 = to_hex(facts_->csr_sha256);
  out.machine = request::claims_of(facts_->identifiers,
                                   facts_->request.hardware.hostname);
  out.hardware_key = facts_->hardware.hex;
  out.trusted = facts_->hardware.names_a_machine();
  out.tpm = request::tpm_identity{
      ek_hash(), certificate_of(proved_->ek_certificate),
      proved_->identity.manufacturer, proved_->identity.model};
  return out;
}

std::shared_ptr<events::grant> tpm_run::new_grant() const {
  auto out = std::make_shared<events::grant>();
  out->attestor = name();
  out->role = pki::certificate_role::node;
  out->bound = true;
  out->reclaims = events::takes_back::its_own;
  out->ek_hash = ek_hash();
  if (proved_->node_key_attested())
    out->statements = {proved_->statement};
  out->max_lifetime = settings_.max_lifetime;
  out->proof_sha256 = proof_sha256();
  return out;
}

result<spending> tpm_run::spend(const node_id& node, time_point now) {
  spending out;
  out.until = challenge_ends();
  if (!request_)
    return out;
  BC_TRY(consumed, consume_request(*request_, approved_by_, node,
                                   to_hex(facts_->csr_sha256), now));
  out.writes.push_back(std::move(consumed.write));
  out.until = std::min(*out.until, consumed.until);
  return out;
}

// The EK as it was read: nobody's, or its node's.
events::batch tpm_run::confirmation() const {
  auto b = machine_batch(facts_->correlation, now_);
  if (bound_)
    b.writes.push_back(
        pin(events::stream_of(bound_->node->id), bound_->version));
  else
    b.claims.push_back({events::node::ek_claim(ek_hash()), {}});
  return b;
}

void tpm_run::confirm(refusal_reason reason, events::batch b) {
  facts_->streams->append(
      std::move(b), [self = shared_from_this(),
                     reason](const result<events::append_outcome>& outcome) {
        if (!outcome)
          return self->decided(outcome.error());
        if (const auto* why = std::get_if<events::rejected>(&outcome.value()))
          return self->decided(attested{*why});
        self->decided(attested{reason});
      });
}

void tpm_run::decided(result<attested> how) {
  auto done = std::exchange(decide_done_, nullptr);
  done(std::move(how));
}

}  // namespace bc::actors
