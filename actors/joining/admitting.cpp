#include "actors/joining/join_run.hpp"
#include "base/fault_point.hpp"

#include <variant>

// The one append, and what its rejection means.
namespace bc::actors {

namespace {

constexpr int max_tries = 3;

}  // namespace

void join_run::admit() {
  if (hit(fault_point::join_before_append) == fault_action::error)
    return unavailable();
  auto plan =
      plan_admission(*env_->keys, env_->certificate_lifetime, states_,
                     {request_, csr_->key, hardware_, csr_sha256_, identity_},
                     call_.correlation, decision_time());
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
  give_joined(std::move(new_answer_));
}

void join_run::on_rejected(const events::rejected& why) {
  using events::unmet;
  store_time_ = why.time;
  if (why.why == unmet::answer && why.holder)
    return give_stored(*why.holder, &join_run::retry);
  if (why.why == unmet::claim && why.subject.starts_with("hw:"))
    return conflict();
  if (why.why == unmet::claim && why.subject.starts_with("spki:"))
    return refuse(events::refusal_reason::join_csr);
  try_again(why.time);
}

void join_run::try_again(time_point store_time) {
  store_time_ = store_time;
  if (++tries_ == max_tries)
    return unavailable();
  load_token();
}

}  // namespace bc::actors
