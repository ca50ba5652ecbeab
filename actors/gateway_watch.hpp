#pragma once

#include "actors/actor_ledger.hpp"
#include "events/gateway_presence.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace bc::actors {

/// The gateways that listen for this process's notices. Any thread.
class gateways_here {
 public:
  /// One that comes twice has to go twice.
  void set(const std::string& gateway, bool here);
  [[nodiscard]] std::vector<std::string> all() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, int> watches_;
};

/// A gateway that no process has heard of for so long is lost, and so are the
/// sessions it had, if they are as old.
inline constexpr seconds gateway_silence{30};

struct gateway_look {
  events::gateway_presence* presence = nullptr;
  std::vector<std::string> here;
  /// False: nobody is given up yet, as when this process has only begun and
  /// gateways are on their way back to it.
  bool judges = true;
};

/// Keeps that those `here` are heard of, then ends (`node.disconnected`,
/// gateway-lost) the sessions of gateways that are lost. Which these are comes
/// from the read models; each node's own stream decides, at its version. A
/// gateway that was only away has its sessions taken back when it asks
/// (check_session). `done` runs once; what is left is for the next time.
void look_after_gateways(std::shared_ptr<ledger> streams, gateway_look look,
                         std::function<void()> done);

struct gateway_watch_options {
  ledger_actors others;
  std::shared_ptr<const gateways_here> here;
  events::gateway_presence* presence = nullptr;  // outlives the actor
  milliseconds every{5'000};
};

/// The actor that does so again and again, for as long as it lives.
[[nodiscard]] gateway_watch_actor spawn_gateway_watch(
    caf::actor_system& system, gateway_watch_options options);

}  // namespace bc::actors
