#include "actors/joining/join_run.hpp"
#include "base/encoding.hpp"

#include <variant>

// The answer of an earlier attempt with the same token and CSR, given again
// (spec: DESIGN section 3, "a lost answer never strands a machine").
namespace bc::actors {

namespace {

// An answer falls with its certificate: a newer one, a newer generation, a
// revocation or a retired node make it void.
bool is_current(const events::node::state& node,
                const events::node::joined& answer, time_point now) {
  const auto* current = events::node::current_certificate(node, now);
  return current != nullptr && current->serial == answer.cert.serial;
}

}  // namespace

void join_run::on_answer_holder(std::optional<events::claim_holder> holder) {
  if (!holder || is_over(*holder))
    return check_token();
  give_stored(*holder, &join_run::check_token);
}

void join_run::give_stored(const events::claim_holder& holder,
                           plain_step otherwise) {
  if_void_ = otherwise;
  streams_->event_at(holder.position, then(&join_run::on_stored_event));
}

void join_run::on_stored_event(std::optional<events::envelope> event) {
  if (!event)
    return answer_is_void();
  auto decoded = events::node::decode(*event);
  if (!decoded)
    return unavailable();
  const auto* stored = std::get_if<events::node::joined>(&decoded.value());
  if (stored == nullptr || stored->answer_subject != token_id_->str() ||
      stored->cert.csr_sha256 != to_hex(csr_sha256_))
    return answer_is_void();
  stored_ = *stored;
  streams_->node(stored_->id, then(&join_run::on_stored_node));
}

void join_run::on_stored_node(shared_state<events::node::state> node) {
  if (!is_current(*node, *stored_, decision_time()))
    return answer_is_void();
  // Its certificate may have ended in another process a moment ago.
  streams_->append(confirm_node(stored_->id, node->version, call_.correlation,
                                decision_time()),
                   then(&join_run::on_answer_confirmed));
}

void join_run::on_answer_confirmed(events::append_outcome outcome) {
  if (const auto* why = std::get_if<events::rejected>(&outcome))
    return try_again(why->time);
  give_joined({stored_->answer_body, stored_->answer_signature});
}

void join_run::answer_is_void() {
  answer_held_ = true;
  (this->*if_void_)();
}

}  // namespace bc::actors
