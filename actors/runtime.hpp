#pragma once

#include "actors/ports.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"
#include "pki/bundle.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>

namespace bc::projections {
class queries;
}

namespace bc::actors {

struct runtime_options {
  events::journal* journal = nullptr;           // outlives the runtime
  projections::queries* queries = nullptr;      // outlives the runtime
  const clock* time = nullptr;                  // outlives the runtime
  std::shared_ptr<const pki::key_bundle> keys;  // null: joins INVALID_CONFIG
  tenant_id root_tenant;
  std::string source = "better-compute";
  seconds certificate_lifetime = pki::max_node_lifetime;
  /// Placeholders too, besides those known to the program.
  pki::shared_uuids shared_uuids;
  int worker_threads = 2;
  /// How often a store of several processes is asked for what others wrote.
  milliseconds tail_every{200};
  /// A stream that nobody used for so long leaves the memory.
  seconds passivate_after{60};
  /// Called for every committed event, in order, on the writer's thread; must
  /// be quick.
  std::function<void(const events::envelope&)> on_event;
};

/// The actor system with every actor of the server. stop() answers or refuses
/// (UNAVAILABLE) everything in flight and returns within `grace`.
class runtime {
 public:
  [[nodiscard]] static result<std::unique_ptr<runtime>> start(
      runtime_options options);
  virtual ~runtime() = default;
  [[nodiscard]] virtual join_port& joins() = 0;
  [[nodiscard]] virtual api_port& api() = 0;
  /// A later call does nothing.
  virtual void stop(seconds grace) = 0;
};

}  // namespace bc::actors
