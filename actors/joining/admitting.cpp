#include "actors/joining/join_run.hpp"
#include "base/fault_point.hpp"

#include <variant>

// The one append, and what its rejection means.
namespace bc::actors {

void join_run::admit() {
  if (hit(fault_point::join_before_append) == fault_action::error)
    return unavailable();
  const auto now = decision_time();
  auto plan = plan_admission(
      *keys_, env_->certificate_lifetime, states_,
      {request(), csr_->key, facts_->hardware, csr_sha256_, identity_,
       answer_subject()},
      [this, now](const node_id& node) { return attesting_->spend(node, now); },
      correlation_, now);
  if (!plan)
    return unavailable();
  tried_generation_ = known_generation();
  new_answer_ = std::move(plan.value().answer);
  streams_->append(std::move(plan.value().batch), then(&join_run::on_appended));
}

void join_run::on_appended(events::append_outcome outcome) {
  if (const auto* why = std::get_if<events::rejected>(&outcome))
    return on_rejected(*why);
  if (hit(fault_point::join_after_append) == fault_action::error)
    return unavailable();
  give(std::move(new_answer_));
}

void join_run::on_rejected(const events::rejected& why) {
  using events::unmet;
  set_store_time(why.time);
  if (why.why == unmet::answer && why.holder)
    return give_stored(*why.holder, &join_run::retry);
  if (why.why != unmet::claim)
    return try_again(why.time);
  if (why.subject.starts_with("hw:") || why.subject.starts_with("ek:"))
    return conflict();
  if (why.subject.starts_with("spki:"))
    return refuse(events::refusal_reason::join_csr);
  if (auto reason = attesting_->claim_refusal(why.subject))
    return refuse(*reason);
  try_again(why.time);
}

}  // namespace bc::actors
