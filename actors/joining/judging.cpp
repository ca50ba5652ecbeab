#include "actors/joining/issuing.hpp"
#include "actors/joining/join_run.hpp"
#include "base/encoding.hpp"

#include <algorithm>
#include <utility>

// The decision, and what remains to be asked after it.
namespace bc::actors {

using events::refusal_reason;

namespace {

// These rest on the grant and the claims, which do not change; which node an
// EK is bound to does.
bool is_final(refusal_reason r, const events::grant& g) {
  return (r == refusal_reason::join_expect && g.ek_hash.empty()) ||
         r == refusal_reason::join_placeholder;
}

// It was granted because a node is as it was read then.
bool is_out_of_date(const judged_by& states) {
  const auto& by = states.granted->by_node;
  return by && (!states.known || states.known->node->id != by->id ||
                states.known->version != by->version);
}

}  // namespace

void join_run::read_states() {
  auto next = [self = shared_from_this()](result<judged_by> got) {
    if (got)
      return self->decide(std::move(got).value());
    if (got.error().code == errc::conflict)
      return self->retry();
    self->unavailable();
  };
  read_judged_by(streams_, states_.granted, facts_->hardware, std::move(next));
}

events::admission join_run::admission() const {
  return {*states_.granted,    *states_.tenant,      *states_.site,
          *states_.pool,       env_->root_tenant,    facts_->claims,
          facts_->hardware,    request().site_id,    decision_time(),
          request().node_id,   states_.known.get(),  states_.named.get(),
          states_.other.get(), &facts_->identifiers, &env_->shared_uuids};
}

// Who would have been admitted and finds the machine joined by another since:
// to admit it again at once would turn out who was just let in (spec:
// joining#refusals, two joins racing).
bool join_run::lost_the_race() const {
  return tried_generation_ && known_generation() > *tried_generation_;
}

void join_run::decide(judged_by states) {
  states_ = std::move(states);
  if (lost_the_race())
    return conflict();
  if (is_out_of_date(states_))
    return retry();
  const auto all = admission();
  const auto ruling = events::judge(all, events::wording::of_failed);
  if (ruling.refused)
    return refuse_by(ruling);
  identity_ = events::identity_of(all);
  check_key();
}

void join_run::refuse_by(const events::ruling& ruling) {
  auto failed = std::ranges::find(ruling.rules, events::verdict::failed,
                                  &events::judged_rule::how);
  if (failed != ruling.rules.end())
    failed_rule_ = *failed;
  if (is_final(*ruling.refused, *states_.granted))
    return refuse(*ruling.refused);
  confirm(*ruling.refused, ruling.clone_suspected);
}

void join_run::check_key() {
  if (is_own_key(*keys_, csr_->key))
    return refuse(refusal_reason::join_csr);
  streams_->holder(events::node::spki_claim(to_hex(csr_->key.spki_sha256())),
                   then(&join_run::on_key_holder));
}

void join_run::on_key_holder(std::optional<events::claim_holder> holder) {
  // Held perhaps by this very join, sent twice: the confirmation tells. A
  // reclaim is for a new key as well.
  if (holder && !is_over(*holder))
    return confirm(refusal_reason::join_csr);
  admit();
}

}  // namespace bc::actors
