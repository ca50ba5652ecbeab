#pragma once

#include "base/clock.hpp"

#include <deque>
#include <optional>

/// When a certificate is renewed. Pure: every time is passed in, so that a
/// virtual clock and a simulated fleet drive it (CASES 100, 106, 107, 111).
namespace bc::daemon {

/// What a machine's clocks say at one moment.
struct clock_reading {
  time_point wall;             // may be wrong, and may be set at any time
  milliseconds since_boot{0};  // never set; goes on while the machine sleeps
};

/// The server's time between the times it signed.
class server_clock {
 public:
  void learn(time_point server, const clock_reading& at);
  /// The later of two guesses: the last signed time plus what has passed since
  /// boot, and the machine's clock corrected by what it was off then. The first
  /// stands still while a hypervisor holds the machine, the second is moved by
  /// whoever sets the clock; a renewal that is too early costs one request, one
  /// that is too late the identity. Before learn() the machine's clock alone.
  [[nodiscard]] time_point now(const clock_reading& at) const;
  /// The last signed time plus what has passed since boot, whoever sets the
  /// clock: what is too late for a command is judged by it. Before learn() the
  /// machine's clock.
  [[nodiscard]] time_point signed_now(const clock_reading& at) const;
  /// signed_now() less the machine's clock; nullopt before learn().
  [[nodiscard]] std::optional<milliseconds> offset_at(
      const clock_reading& at) const;
  [[nodiscard]] bool known() const noexcept { return known_; }
  /// Server's time less the machine's, when last learnt.
  [[nodiscard]] milliseconds offset() const noexcept { return offset_; }

 private:
  bool known_ = false;
  time_point signed_;
  clock_reading learnt_;
  milliseconds offset_{0};
};

/// How far the machine's clock may be off before anybody is told, and before a
/// refusal is worth a second request.
inline constexpr seconds tolerated_offset{60};
/// So long at most does the daemon sleep before it looks at the clock again.
inline constexpr seconds longest_sleep{60};

struct lifetime {
  time_point not_before;
  time_point not_after;
};
/// Between 55 and 65 % of the lifetime; `random` is in [0, 1000).
[[nodiscard]] time_point renewal_due(const lifetime& certificate,
                                     unsigned random);

/// How often a daemon may try. After a failure the wait doubles from 1 s to
/// 5 min, half to the whole of it; and never more than 12 requests in an hour
/// that led to nothing, or to a certificate that is due again at once.
class attempt_pacer {
 public:
  static constexpr seconds an_hour{3'600};
  static constexpr int most_in_an_hour = 12;
  /// Of these, kept for when the gateway is back.
  static constexpr int reserved = 2;

  /// What counts as the hour from now on: of a trial's certificates, which last
  /// minutes, it would be longer than they are. Never more than an hour.
  void count_over(milliseconds span);

  /// Nothing is tried before this moment (since boot).
  [[nodiscard]] milliseconds next() const;
  void failed(milliseconds since_boot, int requests, unsigned random);
  void succeeded() noexcept;
  /// A certificate came, and was due for renewal as it came.
  void came_late(milliseconds since_boot, int requests);
  /// The gateway is back: the wait is over, and the reserve may be used until
  /// the next failure. Requests that were sent stay counted.
  void gateway_is_back() noexcept;

 private:
  void count(milliseconds since_boot, int requests);

  milliseconds span_{an_hour};
  std::deque<milliseconds> requests_;
  milliseconds after_back_off_{0};
  int failures_ = 0;
  bool may_use_reserve_ = false;
};

/// 1 s, 2 s, 4 s, … 5 min for the 1st, 2nd, 3rd, … failure in a row; half to
/// the whole of it, by `random` in [0, 1000).
[[nodiscard]] milliseconds back_off(int failures, unsigned random);

}  // namespace bc::daemon
