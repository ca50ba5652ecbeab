#pragma once

#include "actors/joining/answering_run.hpp"
#include "actors/rejoining/rejoin_flow.hpp"
#include "events/node.hpp"
#include "events/rejoin.hpp"
#include "events/rule_verdict.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

/// Private to this folder.
namespace bc::actors {

/// One rejoin (answering_run.hpp).
class rejoin_run : public answering_run<rejoin_run> {
 public:
  rejoin_run(std::shared_ptr<const join_environment> env,
             std::shared_ptr<ledger> streams, wire::join_request request,
             std::string correlation,
             std::function<void(wire::join_answer)> done)
      : answering_run(env->keys, std::move(streams), std::move(correlation),
                      std::move(done)),
        env_(std::move(env)),
        request_(std::move(request)) {}

  void start();

 private:
  friend answering_run<rejoin_run>;

  // What the request says alone.
  [[nodiscard]] std::optional<events::refusal_reason> check_request();
  [[nodiscard]] std::optional<events::refusal_reason> check_csr();
  /// The challenge's secret again, by the time of the decision.
  [[nodiscard]] std::optional<events::refusal_reason> check_challenge();

  // The node, and that the caller holds its key.
  void load_node();
  void on_node(shared_state<events::node::state> node);
  [[nodiscard]] bool is_proved() const;

  // What else it is judged by.
  void load_pool();
  void on_pool(shared_state<events::pool::state> pool);
  void on_site(shared_state<events::site::state> site);

  // The decision.
  void decide();
  void admit();
  [[nodiscard]] result<events::batch> plan(time_point now);
  void on_appended(events::append_outcome outcome);
  void on_rejected(const events::rejected& why);

  /// A refusal that may be undone: what it was judged by is pinned.
  void confirm(events::refusal_reason reason);
  /// A refusal for a certificate that the node's state does not know: one that
  /// another process issued a moment ago may be missing there.
  void refuse_unknown();
  void on_confirmed(events::append_outcome outcome);
  void pin_place(events::batch& to) const;

  void refuse(events::refusal_reason reason);
  [[nodiscard]] refusal_report report_of(events::refusal_reason reason) const;
  [[nodiscard]] std::optional<events::rule_verdict> compared_by(
      events::refusal_reason reason) const;

  [[nodiscard]] std::string answer_subject() const override {
    return node_id_->str();
  }
  void give(signed_text body) override;
  void again() override;

  [[nodiscard]] const bytes& leaf() const {
    return request_.x509pop->chain.front();
  }

  std::shared_ptr<const join_environment> env_;
  wire::join_request request_;

  pki::certificate_role role_ = pki::certificate_role::node;
  pki::hardware_claims claims_;
  pki::hardware_key hardware_;
  std::optional<node_id> node_id_;
  std::optional<pki::public_key> leaf_key_;
  secret_bytes secret_;  // of the challenge

  shared_state<events::node::state> node_;
  /// In node_; null until it was found there.
  const events::node::issued* presented_ = nullptr;
  bool proved_ = false;
  shared_state<events::pool::state> pool_;  // version 0 without one
  shared_state<events::site::state> site_;

  events::refusal_reason confirming_ = events::refusal_reason::x509pop_node;
};

}  // namespace bc::actors
