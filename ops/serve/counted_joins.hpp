#pragma once

#include "actors/ports.hpp"
#include "ops/serve/health.hpp"

namespace bc::serve {

/// Another daemon_port, the answers to its joins counted.
class counted_joins final : public actors::daemon_port {
 public:
  counted_joins(actors::daemon_port& inner, join_counts& counts)
      : inner_(inner), counts_(counts) {}

  void call(actors::daemon_call call,
            std::function<void(actors::daemon_reply)> done) override {
    if (call.what != actors::daemon_request::join)
      return inner_.call(std::move(call), std::move(done));
    inner_.call(std::move(call), [&counts = counts_, done = std::move(done)](
                                     actors::daemon_reply reply) {
      counts.count(reply.status);
      done(std::move(reply));
    });
  }

 private:
  actors::daemon_port& inner_;
  join_counts& counts_;
};

}  // namespace bc::serve
