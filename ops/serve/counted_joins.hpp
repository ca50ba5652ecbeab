#pragma once

#include "actors/ports.hpp"
#include "ops/serve/health.hpp"

namespace bc::serve {

/// The join port of another, each answer counted.
class counted_joins final : public actors::join_port {
 public:
  counted_joins(actors::join_port& inner, join_counts& counts)
      : inner_(inner), counts_(counts) {}

  void join(actors::join_call call,
            std::function<void(actors::join_reply)> done) override {
    inner_.join(std::move(call), [&counts = counts_, done = std::move(done)](
                                     actors::join_reply reply) {
      counts.count(reply.status);
      done(std::move(reply));
    });
  }

 private:
  actors::join_port& inner_;
  join_counts& counts_;
};

}  // namespace bc::serve
