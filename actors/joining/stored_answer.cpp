#include "actors/joining/stored_answer.hpp"

#include "actors/batches.hpp"
#include "actors/steps.hpp"
#include "events/node.hpp"

#include <optional>
#include <utility>

namespace bc::actors {

namespace {

/// An answer as its event keeps it.
struct stored {
  node_id node;
  std::string subject;
  std::string serial;
  std::string csr_sha256;
  signed_text answer;
};

std::optional<stored> answer_in(const events::node::event& e) {
  if (const auto* j = std::get_if<events::node::joined>(&e))
    return stored{j->id,
                  j->answer_subject,
                  j->cert.serial,
                  j->cert.csr_sha256,
                  {j->answer_body, j->answer_signature}};
  if (const auto* r = std::get_if<events::node::renewed>(&e))
    return stored{r->id,
                  r->id.str(),
                  r->cert.serial,
                  r->cert.csr_sha256,
                  {r->answer_body, r->answer_signature}};
  return std::nullopt;
}

class finding : public steps<finding> {
 public:
  finding(std::shared_ptr<ledger> streams, asked_again what,
          reply_to<found_answer> done)
      : streams_(std::move(streams)),
        what_(std::move(what)),
        done_(std::move(done)) {}

  void start(std::uint64_t position) {
    streams_->event_at(position, then(&finding::on_event));
  }

  void on_fault(fault f) { done_(std::move(f)); }

 private:
  void on_event(std::optional<events::envelope> event) {
    if (!event)
      return done_(found_answer{void_answer{}});
    auto decoded = events::node::decode(*event);
    if (!decoded)
      return done_(std::move(decoded).error());
    stored_ = answer_in(decoded.value());
    if (!stored_ || stored_->subject != what_.subject ||
        stored_->csr_sha256 != what_.csr_sha256)
      return done_(found_answer{void_answer{}});
    streams_->node(stored_->node, then(&finding::on_node));
  }

  void on_node(shared_state<events::node::state> node) {
    const auto* current = events::node::current_certificate(*node, what_.now);
    if (current == nullptr || current->serial != stored_->serial)
      return done_(found_answer{void_answer{}});
    // Its certificate may have ended in another process a moment ago.
    streams_->append(confirm_node(stored_->node, node->version,
                                  what_.correlation, what_.now),
                     then(&finding::on_confirmed));
  }

  void on_confirmed(events::append_outcome outcome) {
    if (auto* why = std::get_if<events::rejected>(&outcome))
      return done_(found_answer{std::move(*why)});
    done_(found_answer{std::move(stored_->answer)});
  }

  std::shared_ptr<ledger> streams_;
  asked_again what_;
  reply_to<found_answer> done_;
  std::optional<stored> stored_;
};

}  // namespace

void find_stored_answer(std::shared_ptr<ledger> streams,
                        const events::claim_holder& holder, asked_again what,
                        reply_to<found_answer> done) {
  std::make_shared<finding>(std::move(streams), std::move(what),
                            std::move(done))
      ->start(holder.position);
}

}  // namespace bc::actors
