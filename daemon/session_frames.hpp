#pragma once

#include "base/wire_session.hpp"
#include "daemon/session.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace bc::daemon {

/// What a node says in a session and makes of what the gateway says, whatever
/// carries the frames. One thread.
class session_frames {
 public:
  class carrier {
   public:
    virtual void write(const wire::from_daemon& frame) = 0;
    /// Ends the session with a goodbye; nothing is taken after it.
    virtual void say_and_end(session_outcome::end what, std::string why) = 0;
    /// beat() is due at this interval from now on.
    virtual void welcomed(seconds heartbeat) = 0;
    /// Something came after the welcome.
    virtual void heard() = 0;
    /// Whether the gateway's certificate is.
    [[nodiscard]] virtual bool is_valid_at(time_point t) const = 0;

   protected:
    ~carrier() = default;
  };

  /// The references must outlive it. `signing_pins`: of the keys that may sign
  /// a welcome.
  session_frames(const identity& who, std::vector<std::string> signing_pins,
                 std::string bcd_version, const session_hooks& hooks,
                 carrier& by);

  void greet();
  void take(const wire::to_daemon& frame);
  void beat();
  /// Those that were not sent since the last heartbeat; none before the
  /// welcome.
  void send_results();

  /// A genuine welcome came.
  [[nodiscard]] bool is_welcomed() const { return welcomed_; }

 private:
  void take(const wire::welcome& m);
  void take(const wire::command& m);
  void take(const wire::recorded& m);

  const identity& who_;
  const std::vector<std::string> signing_pins_;
  const std::string version_;
  const session_hooks& hooks_;
  carrier& by_;
  bytes nonce_;
  bool welcomed_ = false;
  std::set<std::string> sent_;  // results, since the last heartbeat
  std::uint64_t beats_ = 0;
};

}  // namespace bc::daemon
