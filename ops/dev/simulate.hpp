#pragma once

#include "daemon/config.hpp"
#include "daemon/machine_keys.hpp"
#include "ops/cli/context.hpp"
#include "ops/dev/simulated_site.hpp"
#include "pki/hardware_key.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bc::dev {

/// By which attestors the machines join, one after the other in this order.
enum class sim_attestor { join_token, tpm, discovery };
/// "join-token", "tpm", "discovery", or "mixed", which is all of them; empty
/// for any other text.
[[nodiscard]] std::vector<sim_attestor> parse_sim_attestors(
    std::string_view text);

struct simulation {
  int machines = 0;
  std::vector<sim_attestor> attestors{sim_attestor::join_token};
  std::string pool;
  std::string site;
  std::string folder;      // one sub-folder for each machine
  daemon::config machine;  // as an installed machine has it
  cli::context caller;     // how tokens are minted: through the API
  std::function<void(const std::string&)> say;
  std::shared_ptr<std::atomic<bool>> stopping;
  /// A machine is a node now: where it lives, what its hardware says, and where
  /// its keys are. From several threads.
  std::function<void(const std::string& name, const daemon::config& machine,
                     std::function<result<pki::hardware_claims>()> hardware,
                     const daemon::key_places& keys)>
      joined = {};
};

/// Lets each machine join as `bcd join` does: real tokens from the API, real
/// sealing, keys, challenges, vouches and certificates, only the hardware and
/// the TPM made up. What waits for a person is approved through the API, as an
/// operator would. Machines that joined before stay as they are. Answers how
/// many are no nodes at the end, those a stop came before included. `site`: by
/// which those that boot over the network join; null where none do.
[[nodiscard]] int run_simulation(const simulation& s, simulated_site* site);

/// The agent of the simulation's site. The message of a fault says why there is
/// none.
[[nodiscard]] result<std::unique_ptr<simulated_site>> start_site(
    const simulation& s);

}  // namespace bc::dev
