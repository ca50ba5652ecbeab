#include "ops/serve/process.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace bc::serve {

namespace {

// For the store, the log and what libraries open.
constexpr rlim_t own_descriptors = 128;
constexpr std::size_t fewest_connections = 16;
constexpr std::size_t unknown_limit_connections = 256;

}  // namespace

stop_signals::stop_signals(hangup what) {
  ::sigemptyset(&set_);
  ::sigaddset(&set_, SIGINT);
  ::sigaddset(&set_, SIGTERM);
  users_ = set_;
  // SIGUSR1 is the process's own call to stop: it stays masked, so that it can
  // never end a stop that is going on.
  ::sigaddset(&set_, SIGUSR1);
  if (what == hangup::waits)
    ::sigaddset(&set_, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void stop_signals::wait(const std::function<void()>& on_hangup) const {
  for (int which = 0;;) {
    ::sigwait(&set_, &which);
    if (which != SIGHUP)
      return;
    if (on_hangup)
      on_hangup();
  }
}

void stop_signals::end_wait() {
  ::kill(::getpid(), SIGUSR1);
}

void stop_signals::unblock() const {
  ::pthread_sigmask(SIG_UNBLOCK, &users_, nullptr);
}

stop_while_starting::stop_while_starting() {
  // All three wait in the mask of stop_signals, which this thread inherits.
  thread_ = std::thread{[] {
    sigset_t any;
    ::sigemptyset(&any);
    for (int one : {SIGINT, SIGTERM, SIGUSR1})
      ::sigaddset(&any, one);
    int which = 0;
    ::sigwait(&any, &which);
    if (which == SIGUSR1)
      return;
    spdlog::info("stopped while starting");
    ::_exit(0);
  }};
}

stop_while_starting::~stop_while_starting() {
  ::pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void stop_within(seconds limit) {
  // Detached: when the stop ends in time, so does the process.
  std::thread{[limit] {
    std::this_thread::sleep_for(limit);
    spdlog::error("stopping: not done after {} s; the process ends now",
                  limit.count());
    ::_exit(0);
  }}.detach();
}

void log_to_standard_error(std::string_view level) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger =
      std::make_shared<spdlog::logger>("better-compute", std::move(sink));
  // Set for a service whose standard error is the system journal.
  if (std::getenv("JOURNAL_STREAM") != nullptr)
    logger->set_pattern("%l %v");
  spdlog::set_default_logger(std::move(logger));
  spdlog::set_level(spdlog::level::from_str(std::string{level}));
}

void log_at_any_level(std::string_view line) {
  const auto& sinks = spdlog::default_logger_raw()->sinks();
  spdlog::logger any{"better-compute", sinks.begin(), sinks.end()};
  any.info("{}", line);
}

std::size_t raise_connection_limit(std::size_t listeners) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0)
    return unknown_limit_connections;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_NOFILE, &files);
  auto spare = files.rlim_cur - std::min(files.rlim_cur, own_descriptors);
  auto each =
      static_cast<std::size_t>(spare) / std::max<std::size_t>(listeners, 1);
  return std::max(each, fewest_connections);
}

void keep_secrets_out_of_dumps() {
  rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__  // its leak check attaches to the process
  ::prctl(PR_SET_DUMPABLE, 0);
#endif
}

void notify_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (path == nullptr || (*path != '/' && *path != '@') ||
      std::strlen(path) >= sizeof to.sun_path)
    return;
  std::memcpy(to.sun_path, path, std::strlen(path));
  auto size = offsetof(sockaddr_un, sun_path) + std::strlen(path);
  // '@' stands for the zero byte of an abstract address.
  if (*path == '@')
    to.sun_path[0] = '\0';
  int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return;
  if (::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&to),
               static_cast<socklen_t>(size)) < 0)
    spdlog::warn("the service manager cannot be told: {}",
                 std::strerror(errno));
  ::close(fd);
}

std::string process_name() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0)
    std::strcpy(host, "localhost");
  return std::string{host} + " pid " + std::to_string(::getpid());
}

}  // namespace bc::serve
