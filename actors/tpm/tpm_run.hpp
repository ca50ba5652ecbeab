#pragma once

#include "actors/joining/attesting.hpp"
#include "actors/steps.hpp"
#include "actors/tpm/tpm_attestor.hpp"
#include "events/join_request.hpp"
#include "events/node.hpp"
#include "pki/tpm/judge.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Private to this folder.
namespace bc::actors {

/// One machine before the attestor: tpm_attesting.cpp has what it proves,
/// tpm_deciding.cpp whether its EK may join, and where.
class tpm_run : public attesting, public steps<tpm_run> {
 public:
  explicit tpm_run(std::shared_ptr<const join_facts> facts)
      : facts_(std::move(facts)), settings_(*facts_->env->tpm) {}

  [[nodiscard]] std::string_view name() const override {
    return wire::tpm_attestor;
  }
  std::optional<events::refusal_reason> open(time_point now) override;
  void prove(time_point now,
             reply_to<std::optional<events::refusal_reason>> done) override;
  void decide(time_point now, reply_to<attested> done) override;
  result<spending> spend(const node_id& node, time_point now) override;

  [[nodiscard]] std::string answer_subject() const override {
    return subject();
  }
  [[nodiscard]] std::optional<tenant_id> owner() const override {
    return owner_;
  }
  [[nodiscard]] std::optional<events::refusal_reason> claim_refusal(
      std::string_view claim) const override;
  [[nodiscard]] std::optional<pool_id> pool() const override { return pool_; }
  [[nodiscard]] std::optional<events::rule_verdict> compared(
      events::refusal_reason reason, time_point now) const override;

  void on_fault(fault f) { decided(std::move(f)); }

 private:
  using shared_node = shared_state<events::node::state>;
  using shared_pool = shared_state<events::pool::state>;

  template <class T>
  reply_to<T> while_proving(void (tpm_run::*next)(T)) {
    return [self = shared_from_this(), next](result<T> got) {
      if (!got)
        return self->proved(std::move(got).error());
      (self.get()->*next)(std::move(got).value());
    };
  }

  // Whose the EK is.
  void on_ek_holder(std::optional<events::claim_holder> holder);
  void on_bound(shared_node node);
  void find_allowed();
  void on_allowed(shared_pool pool);
  void proved(result<std::optional<events::refusal_reason>> how);

  // That the challenge was not answered before.
  void on_proof_holder(std::optional<events::claim_holder> holder);

  // Whether it may join, and where.
  void choose();
  [[nodiscard]] const pool_id* pool_for_verified() const;
  void take_back();
  void into(const pool_id& pool);
  void on_pool(shared_pool pool);
  void refuse_unknown();

  // A person is asked.
  void enroll();
  void on_site(shared_state<events::site::state> site);
  void on_deferral(deferral_outcome outcome);
  [[nodiscard]] events::join_request::sighting sighting() const;

  /// The grant but for where: tenant, site and pool.
  [[nodiscard]] std::shared_ptr<events::grant> new_grant() const;
  /// The refusal, while these stand.
  void confirm(events::refusal_reason reason, events::batch b);
  [[nodiscard]] events::batch confirmation() const;
  void decided(result<attested> how);

  [[nodiscard]] const std::string& ek_hash() const { return proved_->ek_hash; }
  [[nodiscard]] std::string subject() const {
    return events::join_request::tpm_subject(ek_hash());
  }
  [[nodiscard]] std::string proof_sha256() const;
  [[nodiscard]] time_point challenge_ends() const {
    return from_millis(facts_->request.tpm->expires_ms);
  }

  std::shared_ptr<const join_facts> facts_;
  const tpm_attestor& settings_;
  std::optional<pki::tpm::admitted> proved_;

  reply_to<std::optional<events::refusal_reason>> prove_done_;
  shared_node bound_;  // the EK's node, or null
  /// Once the EK was proved: the tenant that knows it, else the root tenant.
  std::optional<tenant_id> owner_;
  std::optional<pool_id> pool_;  // where it would go, once that is known

  reply_to<attested> decide_done_;
  time_point now_;
  std::uint64_t replayed_at_ = 0;                      // a position
  shared_state<events::site::state> site_;             // the claimed one
  shared_state<events::join_request::state> request_;  // approved, or null
  tenant_id approved_by_;
};

}  // namespace bc::actors
