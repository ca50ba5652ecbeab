#include "daemon/commands.hpp"
#include "daemon/hardware.hpp"
#include "daemon/node.hpp"
#include "daemon/service_notice.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

namespace bc::daemon {

namespace {

// Nothing is lost by a hard end: what is on disk is whole at every moment.
constexpr seconds patience{8};

constexpr const char* node_help =
    "Runs until SIGTERM or SIGINT, and ends within 10 seconds of it. Renews\n"
    "the certificate at about 60 % of its lifetime, by the server's time, "
    "with\n"
    "a new key each time, and keeps a session with the gateway. A machine "
    "that\n"
    "was away until its certificate was over joins again by it, within seven\n"
    "days. Says on standard error what changes, once; `bcd doctor` explains.\n"
    "Tells systemd READY and STATUS where NOTIFY_SOCKET is set.\n"
    "\n"
    "Exit codes:\n"
    "  0  asked to stop\n"
    "  2  wrong arguments or configuration\n"
    "  7  the data folder, another bcd, or not joined: may pass by itself\n"
    "  9  the certificate expired and cannot bring the machine back, or the\n"
    "     identity does not load: join again as root, then systemctl restart\n"
    "     bcd\n"
    "After 2 and 9 a restart changes nothing until somebody acts:\n"
    "RestartPreventExitStatus=2 9 in a unit of systemd.";

struct node_arguments {
  std::string config_file = default_config_file;
  std::string data_dir;
};

// Turns SIGTERM and SIGINT into a stop; gives up on what does not end. Made
// before any other thread, so that all of them have the signals blocked.
class signals {
 public:
  explicit signals(std::stop_source stop) : stop_(std::move(stop)) {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGTERM);
    ::sigaddset(&set_, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    thread_ = std::thread{[this] { wait(); }};
  }
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;
  ~signals() {
    {
      std::lock_guard lock{mutex_};
      ended_ = true;
    }
    done_.notify_all();
    ::pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }

 private:
  void wait() {
    int which = 0;
    ::sigwait(&set_, &which);
    stop_.request_stop();
    std::unique_lock lock{mutex_};
    if (!done_.wait_for(lock, patience, [this] { return ended_; }))
      std::_Exit(static_cast<int>(node_exit::stopped));
  }

  std::stop_source stop_;
  sigset_t set_{};
  std::mutex mutex_;
  std::condition_variable done_;
  bool ended_ = false;
  std::thread thread_;
};

int node(const node_arguments& given) {
  auto loaded = load_config(given.config_file);
  if (!loaded)
    return complain(loaded.error().message);
  auto& c = loaded.value();
  if (!given.data_dir.empty())
    c.data_dir = std::filesystem::absolute(given.data_dir);
  std::stop_source stop;
  signals watched{stop};
  std::mutex lines;
  node_options options;
  options.say = [&lines](const std::string& line) {
    std::lock_guard lock{lines};
    std::fprintf(stderr, "bcd: %s\n", line.c_str());
  };
  options.notify = [](const std::string& state) { notify_service(state); };
  options.session = [](const config& to, const node_identity& me,
                       const session_hooks& hooks, std::stop_token until) {
    return run_session(to, me, program_version, hooks, std::move(until));
  };
  options.version = program_version;
  options.hardware = [source = std::shared_ptr{make_hardware_source()}] {
    return source->read();
  };
  return static_cast<int>(run_node(c, options, stop.get_token()));
}

}  // namespace

command add_node_command(CLI::App& app) {
  auto given = std::make_shared<node_arguments>();
  auto* self = app.add_subcommand(
      "node", "Keep this node's certificate renewed and its session open");
  self->add_option("--config", given->config_file, "Configuration file")
      ->type_name("FILE")
      ->capture_default_str();
  self->add_option("--data-dir", given->data_dir,
                   "Data folder (default: data_dir of the configuration, or "
                   "/var/lib/bcd)")
      ->type_name("DIR");
  add_hardware_options(*self, false);
  self->footer(node_help);
  return {self, [given] { return node(*given); }};
}

}  // namespace bc::daemon
