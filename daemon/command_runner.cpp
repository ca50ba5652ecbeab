#include "daemon/command_runner.hpp"

#include "base/fault_point.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

// A result that no frame can hold would end every session it is sent in.
bool fits(const wire::command_result& result) {
  return result.output.size() <= wire::max_command_output &&
         wire::encode(wire::from_daemon{result}).size() <=
             wire::max_session_frame;
}

}  // namespace

command_runner::command_runner(command_journal journal, runner_tools tools)
    : journal_(std::move(journal)),
      tools_(std::move(tools)),
      results_(journal_.waiting()) {}

void command_runner::serve(session_hooks& hooks) {
  hooks.command = [this](const wire::command_body& c) { take(c); };
  hooks.recorded = [this](const std::string& id) { take_recorded(id); };
  hooks.results = [this] {
    std::lock_guard lock{mutex_};
    return results_;
  };
  hooks.ask_for_results = [this](std::function<void()> poke) {
    std::lock_guard lock{mutex_};
    poke_ = std::move(poke);
  };
}

void command_runner::take(const wire::command_body& command) {
  {
    std::lock_guard lock{mutex_};
    auto same = [&](const auto& one) {
      return one.command && one.command->command_id == command.command_id;
    };
    // Each session brings again what has no result yet.
    if (jobs_.size() >= most_queued || std::ranges::any_of(jobs_, same))
      return;
    jobs_.push_back({command, {}});
  }
  tools_.wake();
}

void command_runner::take_recorded(const std::string& id) {
  {
    std::lock_guard lock{mutex_};
    auto gone = std::erase_if(
        results_, [&](const auto& r) { return r.command_id == id; });
    // As many as there are results, whatever a gateway says.
    if (gone == 0)
      return;
    jobs_.push_back({std::nullopt, id});
  }
  tools_.wake();
}

bool command_runner::idle() const {
  std::lock_guard lock{mutex_};
  return jobs_.empty();
}

bool command_runner::step(const std::stop_token& stop) {
  job next;
  {
    std::lock_guard lock{mutex_};
    if (jobs_.empty())
      return false;
    // It stays in the queue while it runs: the same one is not taken again.
    next = jobs_.front();
  }
  if (next.command)
    run(*next.command, stop);
  else if (journal_.knows(next.recorded))
    if (auto kept = journal_.recorded(next.recorded); !kept)
      trouble(kept.error().message);
  std::lock_guard lock{mutex_};
  jobs_.pop_front();
  return true;
}

void command_runner::run(const wire::command_body& command,
                         const std::stop_token& stop) {
  if (journal_.knows(command.command_id))
    return;
  auto now = tools_.now();
  // What is over is told each time it comes, and never run: no need to keep it.
  if (now >= from_millis(command.expires_at_ms))
    return give(not_done(command.command_id, "expired"));
  auto verdict = journal_.begin(command, now);
  switch (verdict.what) {
    case command_journal::answer::known:
      return;
    case command_journal::answer::full:
      return trouble("the server takes no results");
    case command_journal::answer::crowded:
      return trouble(
          std::to_string(command_log::most_known) +
          " have run whose time is not up yet, and more are not remembered");
    case command_journal::answer::unwritten:
      return trouble(verdict.why);
    case command_journal::answer::begun:
    case command_journal::answer::doubtful:
      break;
  }
  std::optional<wire::command_result> result;
  if (verdict.what == command_journal::answer::doubtful)
    result = not_done(command.command_id, "interrupted");
  else
    result = run_begun(command, stop);
  // Cut by a stop: the next start reports it.
  if (!result)
    return;
  told_.clear();
  if (auto kept = journal_.finish(*result); !kept)
    trouble(kept.error().message);
  give(*std::move(result));
}

std::optional<wire::command_result> command_runner::run_begun(
    const wire::command_body& command, const std::stop_token& stop) {
  if (hit(fault_point::daemon_command_begun) != fault_action::none)
    return std::nullopt;
  auto result = tools_.run(command, stop);
  if (!result)
    return std::nullopt;
  result->command_id = command.command_id;
  if (!fits(*result))
    result = not_done(command.command_id, "too-large");
  if (hit(fault_point::daemon_command_ran) != fault_action::none)
    return std::nullopt;
  return result;
}

void command_runner::give(wire::command_result result) {
  std::function<void()> poke;
  {
    std::lock_guard lock{mutex_};
    auto same = [&](const auto& r) {
      return r.command_id == result.command_id;
    };
    if (results_.size() < 2 * command_log::most_waiting &&
        std::ranges::none_of(results_, same))
      results_.push_back(std::move(result));
    poke = poke_;
    // Under the lock: the session that gave it takes it back before it ends.
    if (poke)
      poke();
  }
}

// Once for each kind of trouble.
void command_runner::trouble(const std::string& why) {
  if (std::exchange(told_, why) != why)
    tools_.say("commands wait: " + why);
}

}  // namespace bc::daemon
