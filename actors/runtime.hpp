#pragma once

#include "actors/discovery/discovery_attestor.hpp"
#include "actors/measures.hpp"
#include "actors/ports.hpp"
#include "actors/tpm/tpm_attestor.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/gateway_presence.hpp"
#include "events/journal.hpp"
#include "pki/bundle.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace bc::projections {
class queries;
}

namespace bc::actors {

struct runtime_options {
  events::journal* journal = nullptr;       // outlives the runtime
  projections::queries* queries = nullptr;  // outlives the runtime
  /// Outlives the runtime; null: no gateway is ever given up.
  events::gateway_presence* presence = nullptr;
  const clock* time = nullptr;                  // outlives the runtime
  std::shared_ptr<const pki::key_bundle> keys;  // null: joins INVALID_CONFIG
  tenant_id root_tenant;
  std::string source = "better-compute";
  seconds certificate_lifetime = pki::max_node_lifetime;
  /// Placeholders too, besides those known to the program.
  pki::shared_uuids shared_uuids;
  /// Whether nodes may join again by their expired certificates.
  bool x509pop = false;
  /// How machines join by their TPMs; nothing: they do not.
  std::optional<tpm_attestor> tpm = {};
  /// How machines join that site agents vouch for; nothing: they do not.
  std::optional<discovery_attestor> discovery = {};
  int worker_threads = 2;
  /// How often a store of several processes is asked for what others wrote.
  milliseconds tail_every{200};
  /// A stream that nobody used for so long leaves the memory.
  seconds passivate_after{60};
  /// How often the read models are asked for hardware that several nodes have.
  milliseconds watch_hardware_every{5'000};
  /// How often the read models are asked for certificates that nobody renews.
  milliseconds watch_certificates_every{15'000};
  /// How often gateways are looked after.
  milliseconds watch_gateways_every{5'000};
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
  [[nodiscard]] virtual daemon_port& daemons() = 0;
  [[nodiscard]] virtual api_port& api() = 0;
  /// Of what this process commits, and what it hears of the others.
  [[nodiscard]] virtual notice_port& notices() = 0;
  /// A gateway listens for this process's notices, or does no more. Any thread.
  virtual void gateway_here(const std::string& gateway, bool here) = 0;
  /// Any thread; never blocks for long.
  [[nodiscard]] virtual const measures& measured() const = 0;
  [[nodiscard]] virtual std::vector<queue_depth> queues() const = 0;
  /// A later call does nothing.
  virtual void stop(seconds grace) = 0;
};

}  // namespace bc::actors
