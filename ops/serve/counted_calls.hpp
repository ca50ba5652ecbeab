#pragma once

#include "actors/ports.hpp"
#include "ops/serve/call_counts.hpp"
#include "ops/serve/failure_log.hpp"

namespace bc::serve {

/// Another daemon_port, the answers to its joins and renewals counted, and
/// those that the service failed told in the log with their request's id.
class counted_calls final : public actors::daemon_port {
 public:
  /// All of them outlive it and its calls.
  counted_calls(actors::daemon_port& inner, call_counts& joins,
                call_counts& renewals, failure_log& failures)
      : inner_(inner),
        joins_(joins),
        renewals_(renewals),
        failures_(failures) {}

  void call(actors::daemon_call call,
            std::function<void(actors::daemon_reply)> done) override;

 private:
  call_counts* counts_of(actors::daemon_request what);

  actors::daemon_port& inner_;
  call_counts& joins_;
  call_counts& renewals_;
  failure_log& failures_;
};

/// Another api_port, the answers that the service failed told in the log with
/// their request's id, but those that are there already.
class told_api final : public actors::api_port {
 public:
  /// Both outlive it and its calls.
  told_api(actors::api_port& inner, failure_log& failures)
      : inner_(inner), failures_(failures) {}

  void call(actors::api_call call,
            std::function<void(actors::api_reply)> done) override;

 private:
  actors::api_port& inner_;
  failure_log& failures_;
};

}  // namespace bc::serve
