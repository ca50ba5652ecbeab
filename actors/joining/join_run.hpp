#pragma once

#include "actors/joining/admission_batch.hpp"
#include "actors/joining/answering_run.hpp"
#include "actors/joining/attesting.hpp"
#include "actors/joining/join_flow.hpp"
#include "actors/joining/judged_by.hpp"
#include "events/admission.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

/// Private to this folder.
namespace bc::actors {

/// One join (answering_run.hpp), whatever its attestor (attesting.hpp).
class join_run : public answering_run<join_run> {
 public:
  join_run(std::shared_ptr<const join_environment> env,
           std::shared_ptr<ledger> streams, daemon_call call,
           std::function<void(wire::join_answer)> done)
      : answering_run(env->keys, std::move(streams),
                      std::move(call.correlation), std::move(done)),
        env_(std::move(env)),
        body_(std::move(call.body)) {}

  void start();

 private:
  friend answering_run<join_run>;

  // What the body says alone.
  [[nodiscard]] std::optional<events::refusal_reason> check_request();
  [[nodiscard]] bool read_facts();

  // The attestor.
  void prove();
  void on_proved(std::optional<events::refusal_reason> refused);
  void take_grant();
  void on_attested(attested what);

  // The decision.
  void read_states();
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

  // Endings.
  void give(signed_text body) override;
  void defer(const deferral& what);
  void refuse(events::refusal_reason reason);
  void conflict();

  [[nodiscard]] std::string answer_subject() const override {
    return attesting_->answer_subject();
  }
  void again() override { prove(); }

  [[nodiscard]] events::admission admission() const;
  [[nodiscard]] refusal_report report_of(events::refusal_reason reason) const;
  [[nodiscard]] std::optional<events::rule_verdict> compared_by(
      events::refusal_reason reason) const;

  [[nodiscard]] std::int64_t known_generation() const {
    return states_.known ? states_.known->generation : 0;
  }
  [[nodiscard]] const wire::join_request& request() const {
    return facts_->request;
  }

  std::shared_ptr<const join_environment> env_;
  std::string body_;

  std::shared_ptr<join_facts> facts_;
  std::shared_ptr<attesting> attesting_;  // null: it is not served
  judged_by states_;

  events::refusal_reason confirming_ = events::refusal_reason::join_reclaim;
  std::optional<events::judged_rule> failed_rule_;
  events::admitted_identity identity_;
  /// The known node's when this join was last given to the journal.
  std::optional<std::int64_t> tried_generation_;
};

}  // namespace bc::actors
