#pragma once

#include "daemon/command_journal.hpp"
#include "daemon/session.hpp"

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace bc::daemon {

/// Runs one command; nullopt when a stop cut it short.
using command_work = std::function<std::optional<wire::command_result>(
    const wire::command_body&, const std::stop_token&)>;

struct runner_tools {
  command_work run;
  /// The server's time, as far as it is known.
  std::function<time_point()> now;
  /// A line for the log.
  std::function<void(const std::string&)> say;
  /// step() has something to do; from any thread.
  std::function<void()> wake;
};

/// Takes commands and gives their results, for the sessions of one node; runs
/// them one at a time, each once (command_journal), when somebody calls step().
class command_runner {
 public:
  /// Commands that wait to be run. What is turned away comes again.
  static constexpr std::size_t most_queued = 64;

  command_runner(command_journal journal, runner_tools tools);

  /// What a session needs of it: any thread, never blocks. The hooks must not
  /// outlive this.
  void serve(session_hooks& hooks);

  /// Does the oldest thing there is to do: false when there was none. One
  /// thread at a time; may take as long as the command does.
  bool step(const std::stop_token& stop);
  [[nodiscard]] bool idle() const;

 private:
  struct job {
    std::optional<wire::command_body> command;
    std::string recorded;  // without a command: the server has its result
  };
  void take(const wire::command_body& command);
  void take_recorded(const std::string& id);
  void run(const wire::command_body& command, const std::stop_token& stop);
  [[nodiscard]] std::optional<wire::command_result> run_begun(
      const wire::command_body& command, const std::stop_token& stop);
  void give(wire::command_result result);
  void trouble(const std::string& why);

  command_journal journal_;  // of step()
  runner_tools tools_;
  std::string told_;  // of step()
  mutable std::mutex mutex_;
  std::deque<job> jobs_;
  std::vector<wire::command_result> results_;
  std::function<void()> poke_;  // the session of the moment
};

/// Gives `work` so long, on a thread of its own: {"error":"timed-out"} then. A
/// thread that does not heed its stop is left behind; while `most_left` of them
/// are, commands are {"error":"busy"}. `work` owns what it uses.
[[nodiscard]] command_work within(milliseconds limit, command_work work,
                                  int most_left = 4);

}  // namespace bc::daemon
