#pragma once

#include "events/postgres.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

/// Postgres for tests: a schema of one's own in the server that
/// BC_TEST_POSTGRES names (or, without it, in one that this process starts),
/// or a whole server for a test that stops it.
namespace bc::testing {

/// Runs a command with the shell; what it printed. The test fails when the
/// command does.
inline std::string run_command(const std::string& command) {
  auto* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  char buffer[4096];
  while (auto n = std::fread(buffer, 1, sizeof buffer, pipe))
    out.append(buffer, n);
  INFO(command << ": " << out);
  REQUIRE(::pclose(pipe) == 0);
  while (!out.empty() && out.back() == '\n')
    out.pop_back();
  return out;
}

/// A server in a folder of its own, started by ops/postgres and gone with
/// this object.
class postgres_server {
 public:
  /// `settings`: "fsync=off shared_buffers=16MB".
  explicit postgres_server(std::string settings = "shared_buffers=32MB")
      : settings_(std::move(settings)) {
    make_dir();
    start();
  }
  /// A hot standby of one that runs.
  struct standby_of {
    const postgres_server& primary;
  };
  explicit postgres_server(standby_of other,
                           std::string settings = "shared_buffers=32MB")
      : settings_(std::move(settings)) {
    make_dir();
    url_ = run_command(script() + " standby " + dir_ + " " +
                       other.primary.dir() + " " + settings_);
  }
  postgres_server(const postgres_server&) = delete;
  postgres_server& operator=(const postgres_server&) = delete;
  ~postgres_server() {
    if (owner_ != ::getpid())
      return;
    static_cast<void>(
        std::system((script() + " stop " + dir_ + " immediate 2>&1").c_str()));
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }

  void start() {
    url_ = run_command(script() + " start " + dir_ + " " + settings_);
  }
  /// As in a crash; `how`: "fast" for an orderly end.
  void stop(const std::string& how = "immediate") {
    run_command(script() + " stop " + dir_ + " " + how);
  }
  void restart(const std::string& how = "immediate") {
    stop(how);
    start();
  }
  /// A standby takes writes from here on.
  void promote() { run_command(script() + " promote " + dir_); }
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& dir() const { return dir_; }

 private:
  static std::string script() { return BC_SOURCE_DIR "/ops/postgres"; }
  // Removed by hand: a forked child must not.
  void make_dir() {
    dir_ = (quick_parent() / "bc-postgres-XXXXXX").string();
    REQUIRE(::mkdtemp(dir_.data()) != nullptr);
  }

  std::string settings_;
  pid_t owner_ = ::getpid();
  std::string dir_;
  std::string url_;
};

/// The server that tests share.
inline const std::string& shared_postgres_url() {
  static const std::string url = [] {
    if (const char* given = std::getenv("BC_TEST_POSTGRES"))
      return std::string{given};
    static postgres_server own;
    return own.url();
  }();
  return url;
}

inline std::unique_ptr<postgres::connection> connect(
    const std::string& url,
    postgres::patience p = postgres::patience::bounded) {
  auto db = postgres::connection::open(url, p);
  if (!db)
    FAIL(db.error().message << " " << db.error().detail);
  return std::move(db).value();
}

inline void run_script(const std::string& url, const std::string& script) {
  auto done = connect(url)->execute(script);
  if (!done)
    FAIL(done.error().message << " " << done.error().detail);
}

/// The answer's first column of its first row.
inline std::string ask(const std::string& url, const std::string& sql) {
  auto db = connect(url);
  auto query = db->prepare(sql);
  REQUIRE(query);
  auto row = query.value().step();
  if (!row)
    FAIL(row.error().message << " " << row.error().detail);
  REQUIRE(row.value());
  return query.value().text(0);
}

/// The URL with a search path of this schema alone.
inline std::string with_schema(const std::string& url,
                               const std::string& name) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") +
         "options=-csearch_path%3D" + name;
}

/// A schema of its own, empty, for one test; dropped with this object.
class postgres_schema {
 public:
  explicit postgres_schema(std::string server = shared_postgres_url())
      : server_(std::move(server)), owner_(::getpid()) {
    static std::atomic<int> next{0};
    name_ = "t" + std::to_string(::getpid()) + "_" + std::to_string(next++);
    run_script(server_, "drop schema if exists " + name_ +
                            " cascade; create schema " + name_);
  }
  postgres_schema(const postgres_schema&) = delete;
  postgres_schema& operator=(const postgres_schema&) = delete;
  ~postgres_schema() {
    if (owner_ != ::getpid())
      return;
    // The server may be gone by now, or a reader still be there.
    if (auto db = postgres::connection::open(server_))
      static_cast<void>(
          db.value()->execute("drop schema if exists " + name_ + " cascade"));
  }

  [[nodiscard]] std::string url() const { return with_schema(server_, name_); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string server_;
  pid_t owner_;
  std::string name_;
};

}  // namespace bc::testing
