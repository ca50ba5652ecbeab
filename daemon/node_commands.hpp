#pragma once

#include "daemon/command_kinds.hpp"
#include "daemon/command_runner.hpp"
#include "daemon/config.hpp"
#include "daemon/identity_store.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>
#include <string>

namespace bc::daemon {

struct node_command_tools {
  std::string version;  // of bcd
  std::function<result<pki::hardware_claims>()> hardware;
  /// The server's time, and what the machine's is off; nullopt: not known yet.
  std::function<time_point()> now;
  std::function<std::optional<milliseconds>()> clock_offset;
  std::function<void(const std::string&)> say;
};

/// The commands of one machine: a thread that runs what its sessions take. Ends
/// within a second of its end, whatever it runs. A machine whose journal cannot
/// be opened takes none; it says so, and goes on.
class node_commands {
 public:
  /// So long may one command take.
  static constexpr milliseconds limit{120'000};

  node_commands(const config& c, const identity_store& store,
                const node_identity& me, node_command_tools tools);
  ~node_commands();
  node_commands(const node_commands&) = delete;
  node_commands& operator=(const node_commands&) = delete;

  /// The hooks must not outlive this.
  void serve(session_hooks& hooks);
  /// The identity was renewed.
  void use(const node_identity& me);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// The identity and configuration that a node's connections are made with, as
/// they are now; any thread.
class current_identity {
 public:
  current_identity(const config& c, const node_identity& me)
      : config_(c), me_(me.clone()) {}
  void use(const node_identity& me);
  [[nodiscard]] std::pair<config, node_identity> get() const;

 private:
  mutable std::mutex mutex_;
  config config_;
  node_identity me_;
};

/// What the commands of a machine are carried out with.
[[nodiscard]] command_tools tools_for_commands(
    const config& c, std::shared_ptr<const current_identity> me,
    const node_command_tools& tools);

}  // namespace bc::daemon
