#include "actors/joining/join_run.hpp"
#include "events/streams.hpp"

#include <string_view>

// Refusals that rest on what can be undone: what they were judged by is
// confirmed by a batch of preconditions, which writes nothing. It also finds
// the answer of the same join when that was in flight.
namespace bc::actors {

using events::refusal_reason;

void join_run::confirm(refusal_reason reason) {
  confirming_ = reason;
  send_confirmation(
      confirm_directory(judged(), call_.correlation, decision_time()));
}

void join_run::confirm_reclaim() {
  confirming_ = refusal_reason::join_reclaim;
  if (!hardware_holder_ || events::kind_of(hardware_holder_->stream) != "node")
    return confirm(refusal_reason::join_reclaim);
  const std::string_view stream = hardware_holder_->stream;
  auto id = node_id::parse(stream.substr(stream.find(':') + 1));
  if (!id)
    return confirm(refusal_reason::join_reclaim);
  streams_->node(id.value(), then(&join_run::on_holding_node));
}

void join_run::on_holding_node(shared_state<events::node::state> node) {
  holding_version_ = node->version;
  // Asked again after the node was read: a claim given up in between shows
  // here, one given up later changes the node's version.
  streams_->holder(events::node::hardware_claim(hardware_.hex),
                   then(&join_run::on_holder_again));
}

void join_run::on_holder_again(std::optional<events::claim_holder> holder) {
  if (!holder || holder->position != hardware_holder_->position)
    return retry();
  auto b = confirm_directory(judged(), call_.correlation, decision_time());
  b.writes.push_back(pin(hardware_holder_->stream, holding_version_));
  send_confirmation(std::move(b));
}

void join_run::send_confirmation(events::batch b) {
  if (!answer_held_)
    b.answers_free = {answer_claim_of(*token_id_, csr_sha256_)};
  streams_->append(std::move(b), then(&join_run::on_confirmed));
}

void join_run::on_confirmed(events::append_outcome outcome) {
  if (const auto* why = std::get_if<events::rejected>(&outcome))
    return on_rejected(*why);
  refuse(confirming_);
}

}  // namespace bc::actors
