#pragma once

#include "actors/discovery/discovery_attestor.hpp"
#include "actors/discovery/vouch_ground.hpp"
#include "actors/join_token/token_attesting.hpp"
#include "actors/joining/attesting.hpp"
#include "actors/steps.hpp"
#include "base/encoding.hpp"
#include "events/join_request.hpp"
#include "events/vouching.hpp"
#include "pki/vouch.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Private to this folder.
namespace bc::actors {

/// One ramdisk before the attestor: discovery_attesting.cpp has what it proves,
/// discovery_deciding.cpp what comes of it.
class discovery_run : public attesting, public steps<discovery_run> {
 public:
  explicit discovery_run(std::shared_ptr<const join_facts> facts)
      : facts_(std::move(facts)), settings_(*facts_->env->discovery) {}

  [[nodiscard]] std::string_view name() const override {
    return wire::discovery_attestor;
  }
  std::optional<events::refusal_reason> open(time_point now) override;
  void prove(time_point now,
             reply_to<std::optional<events::refusal_reason>> done) override;
  void decide(time_point now, reply_to<attested> done) override;
  result<spending> spend(const node_id& node, time_point now) override;

  [[nodiscard]] std::string answer_subject() const override {
    return "vouch:" + says().site.str() + ":" + subject();
  }
  [[nodiscard]] std::optional<tenant_id> owner() const override {
    return owner_;
  }
  [[nodiscard]] std::optional<events::refusal_reason> claim_refusal(
      std::string_view claim) const override;
  [[nodiscard]] std::optional<pool_id> pool() const override {
    return token_ ? token_->token->pool : std::nullopt;
  }
  [[nodiscard]] std::string token() const override {
    return token_ ? token_->token->id.str() : std::string{};
  }
  [[nodiscard]] std::optional<events::rule_verdict> compared(
      events::refusal_reason reason, time_point now) const override {
    return events::vouching::compared_by(reason, says(), ground_.states(),
                                         signer_, machine(), now);
  }

  void on_fault(fault f) { decided(std::move(f)); }

 private:
  // Who vouches, and for whom.
  void read_ground(time_point now);
  void judge_proof(time_point now);
  void confirm_unsigned();
  void proved(result<std::optional<events::refusal_reason>> how);

  // What the vouch is worth now, and the token beside it.
  void on_proof_holder(std::optional<events::claim_holder> holder);
  void judge_lease();
  void on_token(shared_state<events::join_token::state> token);
  void judge_workflow();

  // Whether a person is asked.
  [[nodiscard]] bool needs_approval() const;
  void on_decided_holder(std::optional<events::claim_holder> holder);
  void on_decided(shared_state<events::join_request::state> found);
  void defer();
  void on_token_pool(shared_state<events::pool::state> pool);
  void ask(deferral_order order);
  void on_deferral(deferral_outcome outcome);

  // Where it goes.
  void find_pool();
  [[nodiscard]] std::optional<pool_id> wanted_pool() const;
  void on_pool(shared_state<events::pool::state> pool);

  /// The refusal, while what it was judged by stands.
  void confirm(events::refusal_reason reason);
  void decided(result<attested> how);

  /// The lease and the agent that has it, as they were read.
  [[nodiscard]] std::vector<events::stream_write> rests_on() const;
  [[nodiscard]] events::join_request::sighting sighting() const;
  /// What the machine's join request, and its answer, are kept under.
  [[nodiscard]] std::string subject() const;
  [[nodiscard]] const pki::vouch::claims& says() const { return vouch_->says; }
  [[nodiscard]] events::vouching::machine machine() const {
    return {facts_->csr_sha256, claims_sha256_, facts_->identifiers};
  }

  std::shared_ptr<const join_facts> facts_;
  const discovery_attestor& settings_;
  std::optional<pki::vouch::vouch> vouch_;
  pki::sha256_digest claims_sha256_{};

  reply_to<std::optional<events::refusal_reason>> prove_done_;
  int prove_tries_ = 0;
  vouch_ground ground_;
  std::optional<events::vouching::signer> signer_;
  /// The site's, once the vouch was found to be for this request.
  std::optional<tenant_id> owner_;

  reply_to<attested> decide_done_;
  time_point now_;
  std::uint64_t replayed_at_ = 0;  // a position
  presented_token presented_;
  shared_state<events::join_token::state> token_;      // one that fits, or null
  shared_state<events::join_request::state> request_;  // approved, or null
  /// That nobody rejected this CSR, where no approval is asked for.
  spending not_rejected_;
  std::shared_ptr<const events::grant> grant_;
};

}  // namespace bc::actors
