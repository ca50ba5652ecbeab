#pragma once

#include "daemon/node_status.hpp"
#include "daemon/renewal.hpp"
#include "daemon/renewal_plan.hpp"

#include <functional>
#include <string>

namespace bc::daemon {

/// What the loop asks of the world; a test or a simulated fleet replaces it.
struct renewal_tools {
  std::function<clock_reading()> clocks;
  std::function<unsigned()> random;  // in [0, 1000)
  renew_transport send;
  /// Joins again when the certificate is over (rejoin.hpp), told the server's
  /// time; empty: a person must do it.
  std::function<renewal_attempt(const node_identity&, time_point)> rejoin = {};
  /// Whether that may still come to something at a time that the server signed;
  /// empty: may_rejoin().
  std::function<bool(const node_identity&, time_point)> may_rejoin = {};
  /// Where the next keys come from.
  machine_keys keys = {};
  /// A line for the log; once for each change of state.
  std::function<void(const std::string&)> say;
  /// The status changed.
  std::function<void(const node_status&)> report;
  /// A new pair is on disk and in use.
  std::function<void(const node_identity&)> renewed;
  /// A stop was asked for: what failed because of it is no failure.
  std::function<bool()> stopping;
  /// The server is for trials, and its certificates may last minutes: then the
  /// limit of requests is one for a certificate's lifetime, not for an hour.
  bool for_trials = false;
};

/// How the session stands, for the status.
struct session_news {
  std::string how;  // "connected", or why there is none
  bool connected = false;
  bool refused = false;  // the gateway says: not a node (any more)
};

/// Keeps one identity renewed. Does nothing by itself: somebody calls step()
/// when it asked to be called, or earlier. One thread.
class renewal_loop {
 public:
  /// `me` is what the store holds, settled.
  renewal_loop(const config& c, const identity_store& store, node_identity me,
               renewal_tools tools);

  /// Renews when it is due and may be tried; then says how long to sleep at
  /// most, never over longest_sleep.
  [[nodiscard]] milliseconds step();

  /// The server signed this time in a session, `at` that moment.
  void learn(time_point server, const clock_reading& at);
  /// A session was welcomed, or is over for this reason.
  void session_is(const session_news& news);

  [[nodiscard]] const node_status& status() const noexcept { return status_; }
  [[nodiscard]] const node_identity& me() const noexcept { return me_; }
  [[nodiscard]] const server_clock& clock() const noexcept { return clock_; }
  [[nodiscard]] time_point now() const;
  /// Tells the status as it is.
  void publish() const;

 private:
  [[nodiscard]] milliseconds until_attempt(const clock_reading& at) const;
  void pace();
  // False when the certificate is due as it comes.
  bool schedule(time_point now);
  void attempt();
  void renew();
  void rejoin();
  /// What both end with; false: a stop was asked for.
  [[nodiscard]] bool note(const renewal_attempt& got, const clock_reading& at);
  [[nodiscard]] bool is_on_disk(const node_identity& one) const;
  void accept(renewal_attempt got, const clock_reading& at);
  void failed(const renewal_attempt& got, const clock_reading& at);
  /// The server signed a time at which the certificate is over.
  void over(time_point server_time);
  [[nodiscard]] bool may_come_back(time_point server_time) const;
  void rejoin_failed(const renewal_attempt& got, const clock_reading& at);
  void still_rejoining(const std::string& why, bool refused);
  void become(renewal_state state, const std::string& why,
              const std::string& line);

  const config& config_;
  const identity_store& store_;
  node_identity me_;
  renewal_tools tools_;
  lifetime leaf_;
  time_point due_;
  server_clock clock_;
  attempt_pacer pacer_;
  node_status status_;
  bool is_over_ = false;        // the server says so; nothing is renewed
  bool got_no_answer_ = false;  // the last attempt did not reach a gateway
  bool refusal_told_ = false;   // of a rejoin
  bool short_lived_told_ = false;
  milliseconds told_offset_{0};
};

/// "the certificate expired at …; join again as root: …"
/// (spec: joining#renewal).
[[nodiscard]] std::string expired_text(time_point not_after);
/// The same of a machine that the server does not let back by it.
[[nodiscard]] std::string rejoin_refused_text(time_point not_after);
/// Of one whose certificate names a TPM's AK.
[[nodiscard]] std::string tpm_refused_text(time_point not_after);
/// What a person must do about an identity that is refused.
[[nodiscard]] std::string refused_text(time_point not_after);
/// "this machine's clock is 120 s behind the server's (…)".
[[nodiscard]] std::string clock_text(milliseconds offset, time_point machine);

}  // namespace bc::daemon
