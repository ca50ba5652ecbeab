#pragma once

#include "daemon/command_runner.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/node_commands.hpp"
#include "daemon/rejoin.hpp"
#include "daemon/renewal_loop.hpp"
#include "daemon/session_client.hpp"
#include "ops/dev/fleet.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace bc::dev {

/// What a machine of a fleet uses together with the others.
struct fleet_tools {
  std::function<void(const std::string&)> say;
  daemon::session_pool* sessions = nullptr;
  std::stop_token stop;
  std::atomic<int>* renewals = nullptr;
  std::atomic<int>* commands = nullptr;
};

/// One machine. turn() does what is due; the rest are news for the next turn.
class fleet_machine : public std::enable_shared_from_this<fleet_machine> {
 public:
  /// INVALID_STATE when there is no identity that loads; the faults of
  /// identity_store::open().
  [[nodiscard]] static result<std::shared_ptr<fleet_machine>> open(
      std::string name, const daemon::config& machine,
      std::function<result<pki::hardware_claims>()> hardware,
      const daemon::key_places& keys, const fleet_tools& tools);

  /// `wake` is called, from any thread, when a turn is due at once.
  void wake_by(std::function<void()> wake) { wake_ = std::move(wake); }
  /// Renews, begins a session, runs a command: what is due. Says when to come
  /// again; nullopt: never. One thread at a time.
  [[nodiscard]] std::optional<milliseconds> turn();
  [[nodiscard]] bool connected() const { return connected_; }
  /// Its certificate is over, or it was stopped: it does no more.
  [[nodiscard]] bool is_over() const { return over_; }

 private:
  struct news {
    std::optional<time_point> server_time;
    daemon::clock_reading at;
    bool welcomed = false;
    std::optional<daemon::session_outcome> ended;
  };
  fleet_machine(std::string name, const daemon::config& machine,
                daemon::identity_store store, const daemon::key_places& keys,
                const fleet_tools& tools);

  void start(daemon::node_identity me,
             std::function<result<pki::hardware_claims>()> hardware);
  [[nodiscard]] daemon::renewal_tools renewal(
      std::function<result<pki::hardware_claims>()> hardware);
  [[nodiscard]] daemon::session_hooks hooks();
  void take(const news& n);
  void begin_session();
  void tell(const std::string& line) const;
  [[nodiscard]] time_point server_now() const;
  void learn(const daemon::server_clock& clock);

  const std::string name_;
  const daemon::config config_;
  const fleet_tools tools_;
  const daemon::key_places keys_;
  std::function<void()> wake_ = [] {};
  const daemon::identity_store store_;
  std::shared_ptr<daemon::current_identity> identity_;
  std::optional<daemon::way_back> back_;
  std::optional<daemon::renewal_loop> loop_;
  std::optional<daemon::command_runner> runner_;
  std::atomic<bool> connected_{false};
  std::atomic<bool> over_{false};

  // Of turn().
  bool in_session_ = false;
  bool renewed_ = false;
  int failures_ = 0;
  milliseconds next_session_{0};  // since boot
  std::string told_;
  std::stop_source session_;

  mutable std::mutex mutex_;
  news news_;
  daemon::server_clock clock_;
};

}  // namespace bc::dev
