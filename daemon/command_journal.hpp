#pragma once

#include "daemon/command_log.hpp"
#include "daemon/private_dir.hpp"

namespace bc::daemon {

/// journal.db in the data folder: a command is run once, whatever crashes, and
/// its result is kept until the server has it. Lines are added and synced; now
/// and then the file is written anew with what still counts. One thread.
class command_journal {
 public:
  /// `folder` must outlive it. What an earlier run began and did not finish is
  /// reported as "interrupted" from here on. INVALID_STATE for a file that
  /// cannot be read or written.
  [[nodiscard]] static result<command_journal> open(const private_dir& folder);

  enum class answer {
    begun,      // on disk: run it, then finish() it
    known,      // it ran, or runs
    doubtful,   // it may have run before lines of the journal were lost
    full,       // later: results wait for the server
    crowded,    // later: too many commands ran whose time is not up
    unwritten,  // later: it could not be written down (`why`)
  };
  struct verdict {
    answer what = answer::begun;
    std::string why = {};
  };
  /// `now` is the server's time.
  [[nodiscard]] verdict begin(const wire::command_body& command,
                              time_point now);
  /// Of a command that was begun. On a fault it is kept in memory, and written
  /// with what comes next.
  [[nodiscard]] result<void> finish(const wire::command_result& result);
  /// The server has the result.
  [[nodiscard]] result<void> recorded(const std::string& command_id);

  [[nodiscard]] bool knows(const std::string& id) const {
    return log_.knows(id);
  }
  [[nodiscard]] std::vector<wire::command_result> waiting() const {
    return log_.waiting();
  }

 private:
  command_journal(const private_dir& folder, command_log log)
      : folder_(&folder), log_(std::move(log)) {}
  [[nodiscard]] result<void> add(const std::string& line);
  [[nodiscard]] result<void> rewrite();

  const private_dir* folder_;
  command_log log_;
  std::size_t size_ = 0;
  std::size_t rewritten_size_ = 0;  // 0: not in this run
  /// The file lacks something, or ends within a line.
  bool stale_ = false;
};

/// The output of a command that was not carried out to its end:
/// {"error":"interrupted"}.
[[nodiscard]] wire::command_result not_done(const std::string& command_id,
                                            std::string_view why);

}  // namespace bc::daemon
