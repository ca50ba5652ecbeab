#pragma once

#include "actors/joining/answers.hpp"
#include "actors/joining/stored_answer.hpp"
#include "actors/rejoining/rejoin_flow.hpp"
#include "events/node.hpp"
#include "events/rejoin.hpp"
#include "pki/csr.hpp"
#include "pki/digest.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

/// Private to this folder.
namespace bc::actors {

/// One rejoin, from its request to its answer. Each step either ends it or asks
/// the ledger, which comes back to the next one.
class rejoin_run : public std::enable_shared_from_this<rejoin_run> {
 public:
  rejoin_run(std::shared_ptr<const join_environment> env,
             std::shared_ptr<ledger> streams, wire::join_request request,
             std::string correlation,
             std::function<void(wire::join_answer)> done)
      : env_(std::move(env)),
        streams_(std::move(streams)),
        request_(std::move(request)),
        correlation_(std::move(correlation)),
        done_(std::move(done)) {}

  void start();

 private:
  template <class T>
  using step = void (rejoin_run::*)(T);
  using plain_step = void (rejoin_run::*)();

  /// The ledger's answer goes to the step; its fault ends the rejoin.
  template <class T>
  reply_to<T> then(step<T> next) {
    return [self = shared_from_this(), next](result<T> got) {
      if (!got)
        return self->unavailable();
      (self.get()->*next)(std::move(got).value());
    };
  }

  // What the request says alone.
  [[nodiscard]] std::optional<events::refusal_reason> check_request();
  [[nodiscard]] std::optional<events::refusal_reason> check_csr();
  /// The challenge's secret again, by the time of the decision.
  [[nodiscard]] std::optional<events::refusal_reason> check_challenge();

  // The node, and that the caller holds its key.
  void load_node();
  void on_node(shared_state<events::node::state> node);
  [[nodiscard]] bool is_proved() const;

  // The answer of an earlier attempt.
  void on_answer_holder(std::optional<events::claim_holder> holder);
  void give_stored(const events::claim_holder& holder, plain_step otherwise);
  void on_stored(found_answer found);

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
  void try_again(time_point store_time);
  void retry() { try_again(decision_time()); }

  /// A refusal that may be undone: what it was judged by is pinned.
  void confirm(events::refusal_reason reason);
  /// A refusal for a certificate that the node's state does not know: one that
  /// another process issued a moment ago may be missing there.
  void refuse_unknown();
  void on_confirmed(events::append_outcome outcome);
  void pin_place(events::batch& to) const;

  // Endings.
  void finish(wire::join_answer answer);
  void give(signed_text body);
  void refuse(events::refusal_reason reason);
  void unavailable();

  [[nodiscard]] const bytes& leaf() const {
    return request_.x509pop->chain.front();
  }
  [[nodiscard]] std::string answer_claim() const;
  [[nodiscard]] refusal_report report_of(events::refusal_reason reason) const;
  /// The store's clock once it has told, since it judges in the end.
  [[nodiscard]] time_point decision_time() const {
    return store_time_.value_or(streams_->now());
  }
  [[nodiscard]] answer_signer signer() const {
    return {*env_->keys, csr_sha256_};
  }

  std::shared_ptr<const join_environment> env_;
  std::shared_ptr<ledger> streams_;
  wire::join_request request_;
  std::string correlation_;
  std::function<void(wire::join_answer)> done_;

  time_point asked_at_;
  pki::sha256_digest csr_sha256_{};
  std::optional<pki::csr> csr_;
  pki::certificate_role role_ = pki::certificate_role::node;
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

  bool answer_held_ = false;  // by an answer that is void
  plain_step if_void_ = nullptr;
  events::refusal_reason confirming_ = events::refusal_reason::x509pop_node;
  signed_text new_answer_;
  int tries_ = 0;
  std::optional<time_point> store_time_;
};

}  // namespace bc::actors
