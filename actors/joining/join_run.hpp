#pragma once

#include "actors/joining/admission_batch.hpp"
#include "actors/joining/answers.hpp"
#include "actors/joining/join_flow.hpp"
#include "actors/joining/judged_by.hpp"
#include "actors/joining/stored_answer.hpp"
#include "events/admission.hpp"
#include "events/join_token.hpp"
#include "events/node.hpp"
#include "pki/csr.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

/// Private to this folder.
namespace bc::actors {

/// One join, from its body to its answer. Each step either ends the join or
/// asks the ledger, which comes back to the next one.
class join_run : public std::enable_shared_from_this<join_run> {
 public:
  join_run(std::shared_ptr<const join_environment> env,
           std::shared_ptr<ledger> streams, daemon_call call,
           std::function<void(wire::join_answer)> done)
      : env_(std::move(env)),
        streams_(std::move(streams)),
        call_(std::move(call)),
        done_(std::move(done)) {}

  void start();

 private:
  template <class T>
  using step = void (join_run::*)(T);
  using plain_step = void (join_run::*)();

  /// The ledger's answer goes to the step; its fault ends the join.
  template <class T>
  reply_to<T> then(step<T> next) {
    return [self = shared_from_this(), next](result<T> got) {
      if (!got)
        return self->unavailable();
      (self.get()->*next)(std::move(got).value());
    };
  }

  // Before anything is read: what the body says alone.
  [[nodiscard]] std::optional<events::refusal_reason> check_request();
  [[nodiscard]] std::optional<events::refusal_reason> check_csr();
  [[nodiscard]] std::optional<events::refusal_reason> open_evidence();
  [[nodiscard]] result<secret_bytes> open_seal(
      const pki::private_key& key) const;

  // The token, and the stored answer.
  void load_token();
  void on_token(shared_state<events::join_token::state> token);
  void on_answer_holder(std::optional<events::claim_holder> holder);
  void give_stored(const events::claim_holder& holder, plain_step otherwise);
  void on_stored(found_answer found);
  void answer_is_void();

  // The decision.
  void check_token();
  void decide(judged_by states);
  [[nodiscard]] bool lost_the_race() const;
  void refuse_by(const events::ruling& ruling);
  void check_key();
  void on_key_holder(std::optional<events::claim_holder> holder);

  // A refusal that may be undone is confirmed before it is given.
  void confirm(events::refusal_reason reason, bool tell_of_clone = false);
  void on_confirmed(events::append_outcome outcome);

  void admit();
  void on_appended(events::append_outcome outcome);
  void on_rejected(const events::rejected& why);
  void try_again(time_point store_time);
  void retry() { try_again(decision_time()); }

  // Endings.
  void finish(wire::join_answer answer);
  void give_joined(signed_text body);
  void refuse(events::refusal_reason reason);
  void conflict();
  void unavailable();

  [[nodiscard]] events::admission admission() const;
  [[nodiscard]] refusal_report report_of(events::refusal_reason reason) const;

  [[nodiscard]] std::int64_t known_generation() const {
    return states_.known ? states_.known->generation : 0;
  }
  /// The store's clock once it has told, since it judges in the end.
  [[nodiscard]] time_point decision_time() const {
    return store_time_.value_or(streams_->now());
  }
  [[nodiscard]] bool is_over(const events::claim_holder& holder) const {
    return holder.expires_at && *holder.expires_at <= decision_time();
  }
  [[nodiscard]] answer_signer signer() const {
    return {*env_->keys, csr_sha256_};
  }

  std::shared_ptr<const join_environment> env_;
  std::shared_ptr<ledger> streams_;
  daemon_call call_;
  std::function<void(wire::join_answer)> done_;

  time_point asked_at_;
  wire::join_request request_;
  pki::sha256_digest csr_sha256_{};
  std::optional<pki::csr> csr_;
  pki::certificate_role role_ = pki::certificate_role::node;
  pki::hardware_claims claims_;  // what they are judged by
  pki::identifiers identifiers_;
  pki::hardware_key hardware_;
  std::optional<join_token_id> token_id_;
  pki::sha256_digest presented_{};
  /// Whom a refusal belongs to: the root tenant until the secret verified.
  tenant_id owner_;
  bool secret_verified_ = false;

  shared_state<events::join_token::state> token_;
  judged_by states_;

  bool answer_held_ = false;  // by an answer that is void
  plain_step if_void_ = nullptr;
  events::refusal_reason confirming_ = events::refusal_reason::join_reclaim;
  std::optional<events::judged_rule> failed_rule_;
  events::admitted_identity identity_;
  /// The known node's when this join was last given to the journal.
  std::optional<std::int64_t> tried_generation_;
  signed_text new_answer_;
  int tries_ = 0;
  std::optional<time_point> store_time_;
};

}  // namespace bc::actors
