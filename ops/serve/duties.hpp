#pragma once

#include "base/result.hpp"
#include "events/kafka/publisher.hpp"
#include "ops/serve/health.hpp"
#include "ops/store/store.hpp"
#include "pki/bundle.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace bc::serve {

struct duties_options {
  store::opened* store = nullptr;  // outlives the duties
  std::shared_ptr<const pki::key_bundle> keys;
  std::optional<events::kafka::publisher_options> publisher;
  /// Takes each checkpoint's line; null: the log, whatever its level.
  std::function<void(std::string_view line)> checkpoints = nullptr;
};

/// What runs behind a server: the lease, and what its holder alone does (the
/// tailing projector on Postgres, the publisher, the checkpoint signer). Each
/// has a thread of its own and checks the lease's epoch in what it writes.
class duties {
 public:
  [[nodiscard]] static result<std::unique_ptr<duties>> start(
      duties_options options);
  virtual ~duties() = default;

  /// This process committed something. Any thread; returns at once.
  virtual void wake() = 0;
  /// Fills in what the duties know. Any thread; may block on the store.
  virtual void look(health& h) = 0;
  /// Ends them and gives the lease back.
  virtual void stop() = 0;
};

}  // namespace bc::serve
