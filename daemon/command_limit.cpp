#include "daemon/command_runner.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <system_error>
#include <thread>

namespace bc::daemon {

namespace {

// What heeds its stop has so long to come to its end.
constexpr milliseconds grace{500};

struct one_run {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool done = false;
  std::optional<wire::command_result> result;
};

std::optional<wire::command_result> tried(const command_work& work,
                                          const wire::command_body& command,
                                          const std::stop_token& stop) {
  try {
    return work(command, stop);
  } catch (const std::exception&) {
    return not_done(command.command_id, "failed");
  }
}

}  // namespace

command_work within(milliseconds limit, command_work work, int most_left) {
  auto shared = std::make_shared<const command_work>(std::move(work));
  auto left = std::make_shared<std::atomic<int>>(0);
  return
      [limit, shared, left, most_left](
          const wire::command_body& command,
          const std::stop_token& stop) -> std::optional<wire::command_result> {
        if (*left >= most_left)
          return not_done(command.command_id, "busy");
        auto run = std::make_shared<one_run>();
        std::stop_source cut;
        ++*left;
        try {
          std::thread{[run, shared, left, command, token = cut.get_token()] {
            auto result = tried(*shared, command, token);
            --*left;
            std::lock_guard lock{run->mutex};
            run->result = std::move(result);
            run->done = true;
            run->changed.notify_all();
          }}.detach();
        } catch (const std::system_error&) {
          --*left;
          return not_done(command.command_id, "busy");
        }
        std::unique_lock lock{run->mutex};
        auto ended = [&run] { return run->done; };
        if (run->changed.wait_for(lock, stop, limit, ended))
          return std::move(run->result);
        // What it says from here on was cut short.
        cut.request_stop();
        run->changed.wait_for(lock, grace, ended);
        if (stop.stop_requested())
          return std::nullopt;
        return not_done(command.command_id, "timed-out");
      };
}

}  // namespace bc::daemon
