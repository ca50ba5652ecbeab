#pragma once

#include "base/clock.hpp"
#include "base/wire_session.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::daemon {

/// What a node remembers of its commands, and the lines it is kept in: one JSON
/// object each. Pure; command_journal keeps it on disk.
class command_log {
 public:
  /// Results that wait for the server, and commands that are remembered.
  static constexpr std::size_t most_waiting = 64;
  static constexpr std::size_t most_known = 2048;

  /// Folds the lines of a journal. The last one may be torn: what it would have
  /// said did not happen. Another one that cannot be read makes the log doubt
  /// what came before it (see doubts()).
  [[nodiscard]] static command_log read(std::string_view text);

  [[nodiscard]] bool knows(const std::string& id) const {
    return commands_.contains(id);
  }
  /// Whether this command, which is not known, may be one that was forgotten:
  /// it was issued before lines were lost.
  [[nodiscard]] bool doubts(const wire::command_body& command) const;
  /// No room for another command until results are recorded.
  [[nodiscard]] bool is_waiting_full() const {
    return waiting_ >= most_waiting;
  }
  /// The same, until the time of commands that ended is up and they are
  /// forgotten.
  [[nodiscard]] bool is_known_full() const {
    return commands_.size() >= most_known;
  }
  /// Begun in an earlier run that did not come to its end.
  [[nodiscard]] std::vector<std::string> begun() const;
  /// Results that are not recorded yet, in the order they came.
  [[nodiscard]] std::vector<wire::command_result> waiting() const;

  void begin(const std::string& id, std::int64_t expires_at_ms);
  /// Of a command that is begun; nothing otherwise.
  void finish(const wire::command_result& result);
  void recorded(const std::string& id);
  /// Forgets what can never come again: recorded commands an hour after
  /// their time, and results that the server did not take within a week of it.
  void forget(time_point now);
  /// Lines were lost, and the server's time is known now.
  void doubt_until(time_point now);
  [[nodiscard]] bool lines_were_lost() const noexcept { return lost_; }
  /// read() left something out: the text is to be written anew.
  [[nodiscard]] bool is_torn() const noexcept { return torn_; }

  /// The lines of all of it, each with its line end.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static std::string begun_line(const std::string& id,
                                              std::int64_t expires_at_ms);
  [[nodiscard]] static std::string finished_line(
      const wire::command_result& result);
  [[nodiscard]] static std::string recorded_line(const std::string& id);

 private:
  enum class stage { begun, finished, recorded };
  struct entry {
    stage at = stage::begun;
    std::int64_t expires_at_ms = 0;
    std::uint64_t order = 0;      // among the results
    wire::command_result result;  // while finished
  };
  bool take(std::string_view line);

  std::map<std::string, entry> commands_;
  std::uint64_t next_order_ = 0;
  std::size_t waiting_ = 0;
  bool lost_ = false;
  bool torn_ = false;
  std::optional<std::int64_t> doubtful_until_ms_;
};

}  // namespace bc::daemon
