#pragma once

#include "base/clock.hpp"

#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

/// What every program that runs until it is told to stop does to its process.
namespace bc::serve {

/// SIGINT and SIGTERM wait in a mask that every later thread inherits, until
/// this thread asks for them. Made first, before any thread. SIGPIPE is
/// ignored from then on.
class stop_signals {
 public:
  /// SIGHUP ends the process, or waits as the others do for wait() to take it.
  enum class hangup { ends, waits };

  explicit stop_signals(hangup what = hangup::ends);
  /// Until one came, or end_wait() was called. A SIGHUP that waited runs
  /// `on_hangup` on this thread, and the wait goes on.
  void wait(const std::function<void()>& on_hangup = {}) const;
  /// The process's own call to stop. Any thread.
  static void end_wait();
  /// A second signal, while stopping, ends the process at once.
  void unblock() const;

 private:
  sigset_t set_;
  sigset_t users_;
};

/// While one lives, SIGINT and SIGTERM end the process at once: whoever starts
/// may be waiting for a store that hangs, and has answered nobody yet. A lease
/// that it took by then runs out by itself.
class stop_while_starting {
 public:
  stop_while_starting();
  stop_while_starting(const stop_while_starting&) = delete;
  stop_while_starting& operator=(const stop_while_starting&) = delete;
  /// A signal that comes from now on is for stop_signals::wait().
  ~stop_while_starting();

 private:
  std::thread thread_;
};

/// Ends the process, with a line in the log, when a stop that began takes
/// longer than this; nothing is lost by that: what was not committed was not
/// answered (case 180).
void stop_within(seconds limit);

/// Log to standard error: "debug", "info", "warn" or "error". Under systemd
/// the lines carry no time of their own: the journal has it.
void log_to_standard_error(std::string_view level);
/// An info line whatever the log's level is: what is to be kept outside.
void log_at_any_level(std::string_view line);

/// Raises the soft limit on descriptors as far as it goes, and answers how
/// many connections it allows each of `listeners`.
[[nodiscard]] std::size_t raise_connection_limit(std::size_t listeners);

/// No core file, and no other process of this user may look into this one.
void keep_secrets_out_of_dumps();

/// Tells the service manager ("READY=1", "STOPPING=1"), when there is one.
void notify_manager(std::string_view state);

/// "api-1 pid 4711": where this process is, for people.
[[nodiscard]] std::string process_name();

}  // namespace bc::serve
