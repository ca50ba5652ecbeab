#include "actors/batches.hpp"
#include "actors/claim_owner.hpp"
#include "actors/discovery/discovery_run.hpp"
#include "events/streams.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

// What a vouch is worth, whether a person is asked, and where the machine goes.
namespace bc::actors {

using events::refusal_reason;

namespace {

namespace request = events::join_request;
namespace vouching = events::vouching;

// Another attempt changed what this rests on.
events::rejected moved(time_point now) {
  return {events::unmet::claim, {}, std::nullopt, std::nullopt, now};
}

}  // namespace

void discovery_run::decide(time_point now, reply_to<attested> done) {
  now_ = now;
  decide_done_ = std::move(done);
  token_ = nullptr;
  request_ = nullptr;
  not_rejected_ = {};
  if (!pki::vouch::is_live(says(), now))
    return decided(refusal_reason::discovery_vouch_expired);
  facts_->streams->holder(
      events::node::proof_claim(vouching::proof_of(*vouch_)),
      then(&discovery_run::on_proof_holder));
}

void discovery_run::on_proof_holder(
    std::optional<events::claim_holder> holder) {
  if (!holder || (holder->expires_at && *holder->expires_at <= now_))
    return judge_lease();
  // By this very request perhaps, sent twice: then its answer was written since
  // it was looked for. One that is void is no answer.
  if (std::exchange(replayed_at_, holder->position) != holder->position)
    return decided(moved(now_));
  decided(refusal_reason::discovery_vouch_replayed);
}

void discovery_run::judge_lease() {
  if (!vouching::holds_lease(says(), *signer_, ground_.states(), now_))
    return confirm(refusal_reason::discovery_lease);
  if (!vouching::has_mac(says(), machine()))
    return decided(refusal_reason::discovery_mac);
  const auto& sealed = facts_->request.discovery->sealed_token;
  if (!sealed)
    return judge_workflow();
  auto opened = open_token(*facts_, *sealed, now_);
  if (!std::holds_alternative<presented_token>(opened))
    return decided(refusal_reason::discovery_token);
  presented_ = std::get<presented_token>(opened);
  facts_->streams->token(presented_.id, then(&discovery_run::on_token));
}

void discovery_run::on_token(shared_state<events::join_token::state> token) {
  if (!vouching::token_fits(says(), *token, presented_.secret, now_))
    return decided(refusal_reason::discovery_token);
  token_ = std::move(token);
  judge_workflow();
}

void discovery_run::judge_workflow() {
  // Nothing here runs one, so none waits for a ramdisk.
  if (says().workflow)
    return decided(refusal_reason::discovery_workflow);
  if (facts_->request.site_id != says().site.str())
    return decided(refusal_reason::join_site);
  if (needs_approval())
    return defer();
  facts_->streams->holder(request::decided_claim(says().site, subject(),
                                                 to_hex(facts_->csr_sha256)),
                          then(&discovery_run::on_decided_holder));
}

bool discovery_run::needs_approval() const {
  if (settings_.approval == discovery_approval::always)
    return true;
  if (token_)
    return false;
  return settings_.approval == discovery_approval::unknown_machines ||
         !facts_->hardware.names_a_machine();
}

void discovery_run::on_decided_holder(
    std::optional<events::claim_holder> holder) {
  not_rejected_.claims = {{request::decided_claim(says().site, subject(),
                                                  to_hex(facts_->csr_sha256)),
                           holder ? holder->stream : events::stream_id{}}};
  if (!holder)
    return find_pool();
  const auto id = owner_of<join_request_id>(*holder);
  if (!id)
    return decided(fail(errc::internal, "Decided by no join request"));
  facts_->streams->request(*id, then(&discovery_run::on_decided));
}

// A person said no to this very CSR; a token does not make it a yes. That
// nobody did is what an admission rests on.
void discovery_run::on_decided(shared_state<request::state> found) {
  const bool rejected = found->request && request::status_at(*found, now_) ==
                                              request::status::rejected;
  if (rejected)
    return decided(refusal_reason::discovery_rejected);
  if (found->request)
    not_rejected_.writes = {
        pin(events::stream_of(found->request->id), found->version)};
  find_pool();
}

void discovery_run::defer() {
  if (token_)
    return facts_->streams->pool(*token_->token->pool,
                                 then(&discovery_run::on_token_pool));
  deferral_order order;
  order.tenant = *owner_;
  ask(std::move(order));
}

void discovery_run::on_token_pool(shared_state<events::pool::state> pool) {
  deferral_order order;
  order.tenant = token_->token->tenant;
  order.pool = token_->token->pool;
  order.pins = {pin(events::stream_of(*order.pool), pool->version)};
  ask(std::move(order));
}

void discovery_run::ask(deferral_order order) {
  order.site = says().site;
  order.attestor = name();
  order.subject = subject();
  order.seen = sighting();
  std::ranges::move(rests_on(), std::back_inserter(order.pins));
  order.pins.push_back(
      pin(events::stream_of(says().site), ground_.site->version));
  order.correlation = facts_->correlation;
  order.models = settings_.models;
  deferral_limits limits;
  limits.pending_for = settings_.pending_for;
  limits.places = settings_.pending_places;
  defer_join(facts_->streams, std::move(order), limits,
             then(&discovery_run::on_deferral));
}

void discovery_run::on_deferral(deferral_outcome outcome) {
  if (auto* wait = std::get_if<deferral>(&outcome))
    return decided(std::move(*wait));
  if (auto* why = std::get_if<events::rejected>(&outcome))
    return decided(std::move(*why));
  if (const auto* no = std::get_if<deferral_refusal>(&outcome))
    return decided(*no == deferral_refusal::rejected
                       ? refusal_reason::discovery_rejected
                       : refusal_reason::discovery_enrollment_full);
  request_ = std::move(std::get<approved_request>(outcome).request);
  find_pool();
}

void discovery_run::find_pool() {
  auto pool = wanted_pool();
  if (!pool)
    return decided(refusal_reason::join_pool);
  // A token for one pool, and an approval for another.
  if (token_ && token_->token->pool != pool)
    return decided(refusal_reason::discovery_token);
  facts_->streams->pool(*pool, then(&discovery_run::on_pool));
}

std::optional<pool_id> discovery_run::wanted_pool() const {
  if (request_)
    return request_->request->pool;
  if (token_)
    return token_->token->pool;
  auto found = settings_.pools.find(says().site);
  return found == settings_.pools.end() ? std::nullopt
                                        : std::optional{found->second};
}

void discovery_run::on_pool(shared_state<events::pool::state> pool) {
  auto out = std::make_shared<events::grant>();
  out->attestor = name();
  // Of a pool that is not there the rules say so.
  out->tenant = pool->pool ? pool->pool->tenant : *owner_;
  out->site = says().site;
  out->pool = wanted_pool();
  out->role = pki::certificate_role::ramdisk;
  out->bound = token_ || request_;
  out->reclaims = events::takes_back::ramdisk;
  out->allowed_kinds = settings_.allowed_kinds;
  out->max_lifetime = pki::max_ramdisk_lifetime;
  out->proof_sha256 = vouching::proof_of(*vouch_);
  if (token_) {
    out->expect = token_->token->expect;
    out->token = token_->token->id;
  }
  grant_ = out;
  decided(std::move(out));
}

result<spending> discovery_run::spend(const node_id& node, time_point now) {
  spending out;
  out.writes = rests_on();
  out.writes.insert(out.writes.end(), not_rejected_.writes.begin(),
                    not_rejected_.writes.end());
  out.claims = not_rejected_.claims;
  auto until = std::min({says().expires_at, ground_.lease->lease->expires_at,
                         signer_->certificate->not_after});
  if (token_) {
    auto spent = spend_token(*token_->token, node, facts_->csr_sha256);
    std::ranges::move(spent.writes, std::back_inserter(out.writes));
    until = std::min(until, *spent.until);
  }
  if (request_) {
    BC_TRY(consumed, consume_request(*request_, grant_->tenant, node,
                                     to_hex(facts_->csr_sha256), now));
    out.writes.push_back(std::move(consumed.write));
    until = std::min(until, consumed.until);
  }
  out.until = until;
  return out;
}

void discovery_run::confirm(refusal_reason reason) {
  auto b = machine_batch(facts_->correlation, now_);
  b.writes = pins_of(says().site, ground_);
  facts_->streams->append(
      std::move(b), [self = shared_from_this(),
                     reason](const result<events::append_outcome>& outcome) {
        if (!outcome)
          return self->decided(outcome.error());
        if (const auto* why = std::get_if<events::rejected>(&outcome.value()))
          return self->decided(*why);
        self->decided(reason);
      });
}

void discovery_run::decided(result<attested> how) {
  auto done = std::exchange(decide_done_, nullptr);
  done(std::move(how));
}

std::vector<events::stream_write> discovery_run::rests_on() const {
  return {pin(events::boot_lease_stream(says().site), ground_.lease->version),
          pin(events::stream_of(signer_->node), ground_.holder->version)};
}

request::sighting discovery_run::sighting() const {
  request::sighting out;
  out.csr_sha256 = to_hex(facts_->csr_sha256);
  out.machine = request::claims_of(facts_->identifiers,
                                   facts_->request.hardware.hostname);
  out.hardware_key = facts_->hardware.hex;
  out.trusted = facts_->hardware.names_a_machine();
  out.vouch = request::vouched{says().mac, says().ip, signer_->node,
                               says().boot_lease_epoch, says().workflow};
  return out;
}

}  // namespace bc::actors
