#pragma once

#include "daemon/config.hpp"
#include "ops/cli/context.hpp"
#include "pki/hardware_key.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace bc::dev {

struct simulation {
  int machines = 0;
  std::string pool;
  std::string folder;      // one sub-folder for each machine
  daemon::config machine;  // as an installed machine has it
  cli::context caller;     // how tokens are minted: through the API
  std::function<void(const std::string&)> say;
  std::shared_ptr<std::atomic<bool>> stopping;
  /// A machine is a node now: where it lives, and what its hardware says. From
  /// several threads.
  std::function<void(const std::string& name, const daemon::config& machine,
                     std::function<result<pki::hardware_claims>()> hardware)>
      joined = {};
};

/// Lets each machine join as `bcd join` does: real tokens from the API, real
/// sealing, keys and certificates, only the hardware made up. Machines that
/// joined before stay as they are. Answers how many are no nodes at the end,
/// those a stop came before included.
[[nodiscard]] int run_simulation(simulation s);

}  // namespace bc::dev
