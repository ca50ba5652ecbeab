#include "actors/joining/join_run.hpp"

#include <variant>

// Refusals that rest on what can be undone: what they were judged by is
// confirmed by a batch of preconditions, which writes nothing, or nothing but
// the suspicion of a clone. It also finds the answer of the same join when that
// was in flight.
namespace bc::actors {

void join_run::confirm(events::refusal_reason reason, bool tell_of_clone) {
  confirming_ = reason;
  auto b =
      confirm_refusal(states_, tell_of_clone, correlation_, decision_time());
  b.answers_free = answers_free();
  streams_->append(std::move(b), then(&join_run::on_confirmed));
}

void join_run::on_confirmed(events::append_outcome outcome) {
  if (const auto* why = std::get_if<events::rejected>(&outcome)) {
    // Taken meanwhile: it admits nobody here, and is judged by.
    if (why->why == events::unmet::claim)
      return try_again(why->time);
    return on_rejected(*why);
  }
  refuse(confirming_);
}

}  // namespace bc::actors
