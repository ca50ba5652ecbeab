#include "daemon/command_journal.hpp"

#include "base/json.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

const std::string journal_name = "journal.db";
// What counts at most: 64 results of 64 KiB, and 2048 ids.
constexpr std::size_t most_bytes = 8 << 20;
constexpr std::size_t rewritten_above = 256 << 10;

}  // namespace

wire::command_result not_done(const std::string& command_id,
                              std::string_view why) {
  json::writer out;
  out.begin_object().field("error", why).end_object();
  return {command_id, false, out.str()};
}

result<command_journal> command_journal::open(const private_dir& folder) {
  BC_TRY(file, folder.read(journal_name, most_bytes));
  command_journal out{
      folder, file ? command_log::read(file->expose_text()) : command_log{}};
  bool changed = out.log_.is_torn();
  // Whether it came to its end nobody knows: never again.
  for (const auto& id : out.log_.begun()) {
    out.log_.finish(not_done(id, "interrupted"));
    changed = true;
  }
  out.size_ = file ? file->size() : 0;
  if (changed) {
    BC_TRYV(out.rewrite());
  }
  return out;
}

command_journal::verdict command_journal::begin(
    const wire::command_body& command, time_point now) {
  log_.forget(now);
  if (log_.lines_were_lost()) {
    log_.doubt_until(now);
    stale_ = true;
  }
  if (log_.knows(command.command_id))
    return {answer::known};
  if (log_.is_waiting_full())
    return {answer::full};
  if (log_.is_known_full())
    return {answer::crowded};
  const bool doubtful = log_.doubts(command);
  auto kept =
      add(command_log::begun_line(command.command_id, command.expires_at_ms));
  if (!kept)
    return {answer::unwritten, kept.error().message};
  log_.begin(command.command_id, command.expires_at_ms);
  return {doubtful ? answer::doubtful : answer::begun};
}

result<void> command_journal::finish(const wire::command_result& result) {
  log_.finish(result);
  return add(command_log::finished_line(result));
}

result<void> command_journal::recorded(const std::string& command_id) {
  log_.recorded(command_id);
  return add(command_log::recorded_line(command_id));
}

result<void> command_journal::add(const std::string& line) {
  if (stale_ || size_ > std::max(rewritten_above, 2 * rewritten_size_)) {
    BC_TRYV(rewrite());
  }
  auto added = folder_->append(journal_name, as_bytes(line));
  if (!added)
    // A part of the line may stand there: nothing is written behind it.
    stale_ = true;
  else
    size_ += line.size();
  return added;
}

result<void> command_journal::rewrite() {
  auto text = log_.text();
  stale_ = true;
  BC_TRYV(folder_->write(journal_name, as_bytes(text)));
  stale_ = false;
  size_ = rewritten_size_ = text.size();
  return ok();
}

}  // namespace bc::daemon
