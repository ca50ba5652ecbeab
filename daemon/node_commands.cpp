#include "daemon/node_commands.hpp"

#include "daemon/acceptance.hpp"
#include "daemon/gateway_client.hpp"
#include "daemon/trusted_pins.hpp"

#include <condition_variable>
#include <thread>

namespace bc::daemon {

namespace {

result<void> ask_gateway(const current_identity& who,
                         const std::stop_token& stop) {
  auto [to, me] = who.get();
  auto got = get_from_gateway(to, "/healthz", &me, stop);
  if (got.what != exchange::fate::answered)
    return fail(errc::unavailable, got.why);
  return ok();
}

}  // namespace

void current_identity::use(const node_identity& me) {
  auto copy = me.clone();
  std::lock_guard lock{mutex_};
  me_ = std::move(copy);
}

std::pair<config, node_identity> current_identity::get() const {
  std::lock_guard lock{mutex_};
  return {with_pins_of(config_, me_.who), me_.clone()};
}

command_tools tools_for_commands(const config& c,
                                 std::shared_ptr<const current_identity> me,
                                 const node_command_tools& tools) {
  acceptance_tools checks;
  checks.hardware = tools.hardware;
  checks.clock_offset = tools.clock_offset;
  checks.data_dir = c.data_dir;
  checks.gateway = [who = std::move(me)](const std::stop_token& stop) {
    return ask_gateway(*who, stop);
  };
  return {tools.version, tools.hardware, acceptance_checks(std::move(checks)),
          tools.say};
}

// The thread that step()s the runner.
struct node_commands::parts {
  parts(command_journal journal, const config& c, const node_identity& first,
        node_command_tools tools)
      : me(std::make_shared<current_identity>(c, first)),
        runner(std::move(journal), make_tools(c, tools)),
        thread([this](const std::stop_token& stop) { run(stop); }) {}

  runner_tools make_tools(const config& c, const node_command_tools& tools) {
    runner_tools out;
    out.run = within(limit, [with = tools_for_commands(c, me, tools)](
                                const wire::command_body& command,
                                const std::stop_token& stop) {
      return std::optional{carry_out(command, with, stop)};
    });
    out.now = tools.now;
    out.say = tools.say;
    out.wake = [this] {
      std::lock_guard lock{mutex};
      awake = true;
      changed.notify_all();
    };
    return out;
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      while (!stop.stop_requested() && runner.step(stop)) {
      }
      std::unique_lock lock{mutex};
      changed.wait(lock, stop, [this] { return awake; });
      awake = false;
    }
  }

  std::shared_ptr<current_identity> me;
  std::mutex mutex;
  std::condition_variable_any changed;
  bool awake = false;
  command_runner runner;
  std::jthread thread;
};

node_commands::node_commands(const config& c, const identity_store& store,
                             const node_identity& me,
                             node_command_tools tools) {
  auto journal = command_journal::open(store.folder());
  if (!journal) {
    tools.say("takes no commands: " + journal.error().message);
    return;
  }
  parts_ = std::make_unique<parts>(std::move(journal).value(), c, me,
                                   std::move(tools));
}

node_commands::~node_commands() = default;

void node_commands::serve(session_hooks& hooks) {
  if (parts_)
    parts_->runner.serve(hooks);
}

void node_commands::use(const node_identity& me) {
  if (parts_)
    parts_->me->use(me);
}

}  // namespace bc::daemon
