#pragma once

#include "actors/joining/answers.hpp"
#include "actors/joining/stored_answer.hpp"
#include "actors/renewing/renew_flow.hpp"
#include "base/wire_renew.hpp"
#include "events/node.hpp"
#include "events/renewal.hpp"
#include "pki/csr.hpp"
#include "pki/digest.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

/// Private to this folder.
namespace bc::actors {

/// One renewal, from its body to its answer. Each step either ends it or asks
/// the ledger, which comes back to the next one.
class renew_run : public std::enable_shared_from_this<renew_run> {
 public:
  renew_run(std::shared_ptr<const renew_environment> env,
            std::shared_ptr<ledger> streams, daemon_call call,
            std::function<void(wire::join_answer)> done)
      : env_(std::move(env)),
        streams_(std::move(streams)),
        call_(std::move(call)),
        done_(std::move(done)) {}

  void start();

 private:
  template <class T>
  using step = void (renew_run::*)(T);
  using plain_step = void (renew_run::*)();

  /// The ledger's answer goes to the step; its fault ends the renewal.
  template <class T>
  reply_to<T> then(step<T> next) {
    return [self = shared_from_this(), next](result<T> got) {
      if (!got)
        return self->unavailable();
      (self.get()->*next)(std::move(got).value());
    };
  }

  // What the body says alone.
  [[nodiscard]] std::optional<events::refusal_reason> check_request();

  // The node, and that the caller holds its key.
  void load_node();
  void on_node(shared_state<events::node::state> node);
  [[nodiscard]] std::optional<events::refusal_reason> check_proof() const;

  // The answer of an earlier attempt.
  void on_answer_holder(std::optional<events::claim_holder> holder);
  void give_stored(const events::claim_holder& holder, plain_step otherwise);
  void on_stored(found_answer found);

  // The decision.
  void decide();
  [[nodiscard]] events::renewal renewal() const;
  void renew();
  [[nodiscard]] result<events::batch> plan(time_point now);
  void on_appended(events::append_outcome outcome);
  void on_rejected(const events::rejected& why);
  void try_again(time_point store_time);
  void retry() { try_again(decision_time()); }

  /// A refusal for a certificate that the node's state does not know: one that
  /// another process issued a moment ago may be missing there.
  void refuse_unknown(events::refusal_reason reason, byte_view certificate);
  void on_confirmed(events::append_outcome outcome);

  // Endings.
  void finish(wire::join_answer answer);
  void give(signed_text body);
  void refuse(events::refusal_reason reason);
  void unavailable();

  [[nodiscard]] std::string answer_claim() const;
  [[nodiscard]] refusal_report report_of(events::refusal_reason reason) const;
  /// The store's clock once it has told, since it judges in the end.
  [[nodiscard]] time_point decision_time() const {
    return store_time_.value_or(streams_->now());
  }
  [[nodiscard]] answer_signer signer() const {
    return {*env_->keys, csr_sha256_};
  }

  std::shared_ptr<const renew_environment> env_;
  std::shared_ptr<ledger> streams_;
  daemon_call call_;
  std::function<void(wire::join_answer)> done_;

  time_point asked_at_;
  wire::renew_request request_;
  pki::sha256_digest csr_sha256_{};
  std::optional<pki::csr> csr_;
  std::optional<node_id> node_id_;

  shared_state<events::node::state> node_;
  /// In node_; null until it was found there.
  const events::node::issued* presented_ = nullptr;
  bool proved_ = false;

  bool answer_held_ = false;  // by an answer that is void
  plain_step if_void_ = nullptr;
  events::refusal_reason confirming_ =
      events::refusal_reason::renew_certificate;
  signed_text new_answer_;
  int tries_ = 0;
  std::optional<time_point> store_time_;
};

}  // namespace bc::actors
