#pragma once

#include "actors/joining/answering_run.hpp"
#include "actors/renewing/renew_flow.hpp"
#include "base/wire_renew.hpp"
#include "events/node.hpp"
#include "events/renewal.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

/// Private to this folder.
namespace bc::actors {

/// One renewal (answering_run.hpp).
class renew_run : public answering_run<renew_run> {
 public:
  renew_run(std::shared_ptr<const renew_environment> env,
            std::shared_ptr<ledger> streams, daemon_call call,
            std::function<void(wire::join_answer)> done)
      : answering_run(env->keys, std::move(streams),
                      std::move(call.correlation), std::move(done)),
        env_(std::move(env)),
        call_(std::move(call)) {}

  void start();

 private:
  friend answering_run<renew_run>;

  // What the body says alone.
  [[nodiscard]] std::optional<events::refusal_reason> check_request();

  // The node, and that the caller holds its key.
  void load_node();
  void on_node(shared_state<events::node::state> node);
  [[nodiscard]] std::optional<events::refusal_reason> check_proof() const;

  // The decision.
  void decide();
  [[nodiscard]] events::renewal renewal() const;
  void renew();
  [[nodiscard]] result<events::batch> plan(time_point now);
  void on_appended(events::append_outcome outcome);
  void on_rejected(const events::rejected& why);

  /// A refusal for a certificate that the node's state does not know: one that
  /// another process issued a moment ago may be missing there.
  void refuse_unknown(events::refusal_reason reason, byte_view certificate);
  void on_confirmed(events::append_outcome outcome);

  void refuse(events::refusal_reason reason);
  [[nodiscard]] refusal_report report_of(events::refusal_reason reason) const;

  [[nodiscard]] std::string answer_subject() const override {
    return node_id_->str();
  }
  void give(signed_text body) override;
  void again() override { load_node(); }
  [[nodiscard]] std::string_view unavailable_text() const override;

  std::shared_ptr<const renew_environment> env_;
  daemon_call call_;  // without its correlation

  wire::renew_request request_;
  std::optional<node_id> node_id_;

  shared_state<events::node::state> node_;
  /// In node_; null until it was found there.
  const events::node::issued* presented_ = nullptr;
  bool proved_ = false;

  events::refusal_reason confirming_ =
      events::refusal_reason::renew_certificate;
};

}  // namespace bc::actors
