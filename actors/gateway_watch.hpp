#pragma once

#include "actors/actor_ledger.hpp"
#include "events/gateway_presence.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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

/// For how long this process's looks went well, one soon after the other. While
/// the store is away no process can say whom it hears of; so nobody is given up
/// before all of them had the time to, and gateways that to come back.
class unbroken_looks {
 public:
  using steady = std::chrono::steady_clock;
  /// From the end of one look to what counts as the next, at most.
  static constexpr milliseconds longest_gap = gateway_silence / 2;

  [[nodiscard]] bool may_judge(steady::time_point now) const;
  void ended(bool well, steady::time_point now);

 private:
  std::optional<steady::time_point> since_;
  steady::time_point last_;
};

struct gateway_look {
  events::gateway_presence* presence = nullptr;
  std::vector<std::string> here;
  /// Asked once the store has heard who is here. False: nobody is given up yet.
  std::function<bool()> judges;
};

/// Keeps that those `here` are heard of, then ends (`node.disconnected`,
/// gateway-lost) the sessions of gateways that are lost. Which these are comes
/// from the read models; each node's own stream decides, at its version. A
/// gateway that was only away has its sessions taken back when it asks
/// (check_session). `done` runs once, with false when the store was away; what
/// is left is for the next time.
void look_after_gateways(std::shared_ptr<ledger> streams, gateway_look look,
                         std::function<void(bool well)> done);

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
