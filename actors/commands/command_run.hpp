#pragma once

#include "actors/batches.hpp"
#include "actors/joining/answers.hpp"
#include "actors/sessions/session_flow.hpp"
#include "events/node_sessions.hpp"
#include "pki/certificate.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

/// What both flows about commands share.
namespace bc::actors::detail {

using node_state = shared_state<events::node::state>;

/// One call under way: its caller, and its one answer.
class command_run {
 public:
  command_run(std::shared_ptr<const session_environment> env,
              std::shared_ptr<ledger> streams, daemon_call call,
              std::function<void(daemon_reply)> done)
      : env_(std::move(env)),
        streams_(std::move(streams)),
        call_(std::move(call)),
        certificate_(to_bytes(as_bytes(call_.client_certificate))),
        done_(std::move(done)) {}

 protected:
  ~command_run() = default;

  /// The certificate by which the caller is the node; null: it is not.
  [[nodiscard]] const events::node::certificate* caller_of(
      const events::node::state& s) const {
    return events::node::session_certificate(s, certificate_, streams_->now());
  }

  void finish(daemon_reply reply) {
    if (auto done = std::exchange(done_, nullptr))
      done(std::move(reply));
  }
  void finish(const fault& why) {
    auto answer = plain_failure(why.code, why.message, why.path);
    finish({wire::http_status(answer), wire::encode(answer)});
  }
  void refuse() { finish(fail(errc::access_denied, "Session refused")); }
  /// The caller is not the node as this process knows it: refused once this is
  /// the node as it is, else `again` runs.
  template <class Self>
  void refuse_if_known(std::shared_ptr<Self> self, const node_id& id,
                       const events::node::state& s,
                       std::function<void()> again) {
    streams_->append(
        confirm_node(id, s.version, call_.correlation, streams_->now()),
        then<events::append_outcome>(
            self, [this, again = std::move(again)](const auto& outcome) {
              if (std::holds_alternative<events::appended>(outcome))
                return refuse();
              if (--tries_left_ == 0)
                return unavailable("The node keeps moving");
              again();
            }));
  }
  void unavailable(const std::string& why) {
    finish(fail(errc::unavailable, why));
  }

  /// A callback for the ledger: `step` gets the value, a fault ends the call.
  /// `self` keeps the run.
  template <class T, class Self, class Step>
  [[nodiscard]] static reply_to<T> then(std::shared_ptr<Self> self, Step step) {
    return [self = std::move(self), step = std::move(step)](result<T> got) {
      if (!got)
        return self->unavailable(got.error().message);
      step(std::move(got).value());
    };
  }

  std::shared_ptr<const session_environment> env_;
  std::shared_ptr<ledger> streams_;
  daemon_call call_;
  bytes certificate_;
  std::function<void(daemon_reply)> done_;
  int tries_left_ = 3;
};

}  // namespace bc::actors::detail
