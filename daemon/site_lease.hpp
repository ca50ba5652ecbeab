#pragma once

#include "base/clock.hpp"
#include "base/wire_boot_lease.hpp"
#include "daemon/renewal_plan.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace bc::daemon {

/// What an agent knows of its site's boot lease.
struct boot_lease_view {
  bool asked = false;  // an answer came
  bool held = false;
  std::int64_t epoch = 0;
  std::string holder;     // a node id; empty: nobody
  time_point expires_at;  // the server's time
  std::string trouble;    // why the last request got no answer; empty: none

  bool operator==(const boot_lease_view&) const = default;
};

/// Keeps the site's boot lease: when to ask for it, and until when it is held.
/// Pure: every time is passed in. Judges by CLOCK_BOOTTIME alone, so that
/// nobody who sets the machine's clock makes a lease last longer, and one that
/// ran out while the machine slept is over.
class boot_lease_keeper {
 public:
  /// What a vouch must have before it: its join has to arrive while the lease
  /// is held.
  static constexpr seconds margin{10};
  static constexpr seconds longest_wait{40};
  /// Of an agent that does not hold it: the one that does may give it back.
  static constexpr seconds longest_stand_by{15};

  /// The lease is not asked for before this moment (since boot).
  [[nodiscard]] milliseconds next() const noexcept { return next_; }

  /// The answer to a request sent at `sent` (since boot), when the server's
  /// time was `server`. `random` in [0, 1000), here and below.
  void answered(const wire::boot_lease_body& body, milliseconds sent,
                time_point server, unsigned random);
  /// No answer came; what is held is still held.
  void failed(std::string why, milliseconds at, unsigned random);
  /// The server does not let this agent have it.
  void refused(std::string why, milliseconds at, unsigned random);
  /// It was given up.
  void released();

  /// The epoch while the lease is held for at least `margin` more.
  [[nodiscard]] std::optional<std::int64_t> epoch_at(milliseconds at) const;
  /// What is known at `at`: a lease that ran out is not held.
  [[nodiscard]] boot_lease_view view(milliseconds at) const;

 private:
  [[nodiscard]] bool is_held(milliseconds at) const {
    return known_.held && at < until_;
  }

  boot_lease_view known_;
  milliseconds until_{0};  // since boot; of one that is held
  milliseconds next_{0};
  int failures_ = 0;
};

}  // namespace bc::daemon
