#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "events/boot_lease.hpp"
#include "ops/dev/simulate.hpp"
#include "pki/certificate.hpp"

#include <string>
#include <vector>

namespace bc::dev {

struct options {
  std::string data = ".dev";
  int machines = 0;
  std::vector<sim_attestor> attestors{sim_attestor::join_token};
  bool once = false;
  int api_port = 7780;
  int gateway_port = 7443;
  /// Of nodes' certificates; they are backdated by 5 minutes of it.
  seconds certificate_lifetime = pki::max_node_lifetime;
  /// Of a site's agents.
  seconds boot_lease = events::boot_lease::default_ttl;
};

/// The whole control plane in one process on SQLite: API on loopback HTTP,
/// gateway on loopback TLS 1.3, simulated machines that live while it runs.
/// Returns the exit code when SIGINT or SIGTERM came, or after the joins with
/// `once`.
[[nodiscard]] result<int> run(const options& o);

}  // namespace bc::dev
