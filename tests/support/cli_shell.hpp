#pragma once

#include "gateway/http_server.hpp"
#include "ops/cli/commands.hpp"
#include "tests/support/temporary_folder.hpp"

#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

/// better-compute run in this process, against an API that is played.
namespace bc::testing {

inline const std::string cli_secret(43, 's');
inline const std::string cli_credential =
    "bck_" + std::string(26, '0') + "." + cli_secret;

/// An API that keeps what it was sent.
class recorder {
 public:
  using answerer =
      std::function<std::pair<int, std::string>(const gateway::http_request&)>;

  explicit recorder(answerer answer) {
    auto started = gateway::http_server::start(
        {}, [this, answer = std::move(answer)](gateway::http_request request,
                                               gateway::respond respond) {
          auto [status, body] = answer(request);
          {
            std::scoped_lock lock{mutex_};
            calls_.push_back(std::move(request));
          }
          gateway::http_response r;
          r.status = status;
          r.body = body;
          respond(std::move(r));
        });
    REQUIRE(started);
    server_ = std::move(started).value();
  }
  /// Answers every call alike.
  recorder(int status, const std::string& body)
      : recorder([=](const gateway::http_request&) {
          return std::pair{status, body};
        }) {}
  ~recorder() { server_->stop(seconds{1}); }

  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_->port());
  }
  std::size_t calls() {
    std::scoped_lock lock{mutex_};
    return calls_.size();
  }
  gateway::http_request last() {
    std::scoped_lock lock{mutex_};
    REQUIRE_FALSE(calls_.empty());
    return calls_.back();
  }

 private:
  std::mutex mutex_;
  std::vector<gateway::http_request> calls_;
  std::unique_ptr<gateway::http_server> server_;
};

/// A descriptor whose output goes to a file meanwhile.
class captured {
 public:
  captured(int fd, std::string file) : fd_(fd), file_(std::move(file)) {
    flush();
    kept_ = ::dup(fd_);
    int to = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                    S_IRUSR | S_IWUSR);
    REQUIRE(to >= 0);
    ::dup2(to, fd_);
    ::close(to);
  }
  std::string end() {
    flush();
    ::dup2(kept_, fd_);
    ::close(kept_);
    return read_text(file_);
  }

 private:
  static void flush() {
    std::cout.flush();
    std::fflush(nullptr);
  }
  int fd_, kept_ = -1;
  std::string file_;
};

/// A variable of the environment, for a while.
class variable {
 public:
  variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name))
      before_ = before;
    ::setenv(name_, value.c_str(), 1);
  }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  ~variable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

struct ended {
  int exit_code;
  std::string out;
  std::string err;
};

/// A person's shell, with a home of its own.
class shell {
 public:
  explicit shell(std::string url) : url_(std::move(url)) {
    ::setenv("BETTER_COMPUTE_CREDENTIAL", cli_credential.c_str(), 1);
    ::setenv("XDG_CONFIG_HOME", (folder + "/config").c_str(), 1);
  }
  shell(const shell&) = delete;
  shell& operator=(const shell&) = delete;
  ~shell() {
    for (const char* name :
         {"BETTER_COMPUTE_CREDENTIAL", "BETTER_COMPUTE_CREDENTIAL_FILE",
          "XDG_CONFIG_HOME"})
      ::unsetenv(name);
  }

  /// With the options of a command that talks to the server.
  ended run(std::vector<std::string> words) const {
    for (const auto& more : {std::string{"--tenant"}, std::string{"ten_x"},
                             std::string{"--url"}, url_})
      words.push_back(more);
    return run_alone(std::move(words));
  }

  ended run_alone(std::vector<std::string> words) const {
    cli::context ctx;
    CLI::App app{"", "better-compute"};
    app.require_subcommand(1);
    cli::add_commands(app, ctx);
    captured out{STDOUT_FILENO, folder + "/out"};
    captured err{STDERR_FILENO, folder + "/err"};
    std::reverse(words.begin(), words.end());
    try {
      app.parse(words);
    } catch (const CLI::ParseError& e) {
      cli::report_arguments(ctx, app, e);
    }
    auto err_text = err.end();
    return {ctx.exit_code, out.end(), err_text};
  }

  std::string profile_file() const {
    return folder + "/config/better-compute/profile.toml";
  }

  temporary_folder own_;
  std::string folder = own_.path();

 private:
  std::string url_;
};

}  // namespace bc::testing
