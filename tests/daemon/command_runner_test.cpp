// Commands of one node: taken by sessions, run one at a time, each once.
#include "daemon/command_runner.hpp"

#include "base/fault_point.hpp"
#include "base/json.hpp"
#include "daemon/acceptance.hpp"
#include "daemon/command_kinds.hpp"
#include "tests/support/forked.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <condition_variable>
#include <sys/vfs.h>
#include <thread>

using namespace bc;
using namespace bc::daemon;

namespace {

const time_point start = from_millis(1'764'000'000'000);

wire::command_body command(const std::string& id, std::string kind = "ping",
                           std::string payload = "{}") {
  return {id,
          "node_1",
          std::move(kind),
          std::move(payload),
          to_millis(start),
          to_millis(start) + 60'000};
}

struct world {
  temporary_folder home{quick_parent()};
  private_dir folder = private_dir::open(home / "data").value();
  time_point now = start;
  std::vector<std::string> ran;
  std::vector<std::string> said;
  int woken = 0;
  int poked = 0;
  std::string output = "out";
  std::optional<command_runner> runner;
  session_hooks hooks;

  world() { restart(); }
  void restart() {
    runner_tools tools;
    tools.run = [this](const wire::command_body& c, const std::stop_token&) {
      ran.push_back(c.command_id);
      return std::optional{wire::command_result{"", true, output}};
    };
    tools.now = [this] { return now; };
    tools.say = [this](const std::string& line) { said.push_back(line); };
    tools.wake = [this] { ++woken; };
    runner.emplace(command_journal::open(folder).value(), std::move(tools));
    hooks = {};
    runner->serve(hooks);
    hooks.ask_for_results([this] { ++poked; });
  }
  void run_all(const std::stop_token& stop = {}) {
    while (runner->step(stop)) {
    }
  }
  [[nodiscard]] std::vector<std::string> results() const {
    std::vector<std::string> out;
    for (const auto& r : hooks.results())
      out.push_back(r.command_id + (r.succeeded ? " + " : " - ") + r.output);
    return out;
  }
};

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("command runner: runs what it takes, in order, each once") {
  world w;
  CHECK_FALSE(w.runner->step({}));
  w.hooks.command(command("cmd_1"));
  w.hooks.command(command("cmd_2"));
  w.hooks.command(command("cmd_1"));
  CHECK(w.ran.empty());  // never on the session's thread
  CHECK(w.woken == 2);
  w.run_all();
  CHECK(w.ran == texts{"cmd_1", "cmd_2"});
  CHECK(w.results() == texts{"cmd_1 + out", "cmd_2 + out"});
  CHECK(w.poked == 2);
  // Each session brings again what has no result there.
  w.hooks.command(command("cmd_2"));
  w.run_all();
  w.restart();
  w.hooks.command(command("cmd_1"));
  w.run_all();
  CHECK(w.ran == texts{"cmd_1", "cmd_2"});
  CHECK(w.results() == texts{"cmd_1 + out", "cmd_2 + out"});
  // Until the server has it.
  w.hooks.recorded("cmd_1");
  w.hooks.recorded("cmd_1");
  w.hooks.recorded("cmd_unknown");
  CHECK(w.results() == texts{"cmd_2 + out"});
  w.run_all();
  w.restart();
  CHECK(w.results() == texts{"cmd_2 + out"});
  w.hooks.command(command("cmd_1"));
  w.run_all();
  CHECK(w.ran.size() == 2);
}

TEST_CASE("command runner: what expired is told, and not run") {
  world w;
  w.hooks.command(command("cmd_1"));
  w.now = start + milliseconds{60'000};
  w.hooks.command(command("cmd_2"));
  w.run_all();
  CHECK(w.ran.empty());
  CHECK(w.results() == texts{R"(cmd_1 - {"error":"expired"})",
                             R"(cmd_2 - {"error":"expired"})"});
  w.hooks.command(command("cmd_2"));
  w.run_all();
  w.hooks.recorded("cmd_1");
  w.run_all();
  CHECK(w.results() == texts{R"(cmd_2 - {"error":"expired"})"});
  // One that ran keeps its result, however late it is.
  w.now = start;
  w.hooks.command(command("cmd_3"));
  w.run_all();
  w.now = start + milliseconds{60'000};
  w.hooks.command(command("cmd_3"));
  w.run_all();
  CHECK(w.results().back() == "cmd_3 + out");
  CHECK(w.results().size() == 2);
}

TEST_CASE("command runner: a crash at any step, and the same command again") {
  struct row {
    fault_point at;
    std::size_t runs_before;
  };
  auto r = GENERATE(row{fault_point::daemon_command_begun, 0},
                    row{fault_point::daemon_command_ran, 1});
  auto action = GENERATE(fault_action::exit, fault_action::error);
  world w;
  w.hooks.command(command("cmd_1"));
  if (action == fault_action::exit) {
    CHECK(bc::testing::in_child([&] {
            arm(r.at, fault_action::exit);
            w.run_all();
          }) == 99);
  } else {
    arm(r.at, fault_action::error);
    w.run_all();
    disarm_all();
    CHECK(w.ran.size() == r.runs_before);
    CHECK(w.results().empty());
  }
  w.ran.clear();
  w.restart();
  w.hooks.command(command("cmd_1"));
  w.run_all();
  CHECK(w.ran.empty());
  CHECK(w.results() == texts{R"(cmd_1 - {"error":"interrupted"})"});
}

TEST_CASE("command runner: an output that no frame holds") {
  world w;
  w.output =
      GENERATE(std::string(32 * 1024 + 1, 'x'), std::string(32 * 1024, '"'));
  w.hooks.command(command("cmd_1"));
  w.run_all();
  CHECK(w.results() == texts{R"(cmd_1 - {"error":"too-large"})"});
}

TEST_CASE("command runner: a disk that is full, then is not") {
  world w;
  for (int i = 0; i < 3; ++i) {
    arm(fault_point::daemon_half_append, fault_action::error);
    w.hooks.command(command("cmd_1"));
    w.run_all();
  }
  disarm_all();
  CHECK(w.ran.empty());
  CHECK(w.results().empty());
  REQUIRE(w.said.size() == 1);  // once
  CHECK_THAT(w.said[0], Catch::StartsWith("commands wait: ") &&
                            Catch::Contains("journal.db"));
  w.hooks.command(command("cmd_1"));
  w.run_all();
  CHECK(w.results() == texts{"cmd_1 + out"});
}

TEST_CASE("command runner: a flood of commands is bounded") {
  world w;
  for (int i = 0; i < 1'000; ++i)
    w.hooks.command(command("cmd_" + std::to_string(i)));
  w.run_all();
  CHECK(w.ran.size() == command_runner::most_queued);
  for (int i = 100; i < 300; ++i) {
    w.hooks.command(command("cmd_" + std::to_string(i)));
    w.run_all();
  }
  CHECK(w.ran.size() == command_log::most_waiting);
  w.now += milliseconds{60'000};
  for (int i = 300; i < 1'000; ++i) {
    w.hooks.command(command("cmd_" + std::to_string(i)));
    w.run_all();
  }
  CHECK(w.results().size() == 2 * command_log::most_waiting);
}

TEST_CASE("command limit: in time, too late, left behind") {
  struct gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    int through = 0;
  };
  auto shared = std::make_shared<gate>();
  auto work = within(
      milliseconds{30},
      [shared](const wire::command_body& c, const std::stop_token& stop) {
        std::optional result{wire::command_result{c.command_id, true, "out"}};
        if (c.kind == "quick")
          return result;
        if (c.kind == "throws")
          throw std::runtime_error("no");
        if (c.kind == "heeds") {
          std::unique_lock lock{shared->mutex};
          std::condition_variable_any never;
          never.wait(lock, stop, [] { return false; });
          return result;
        }
        std::unique_lock lock{shared->mutex};
        shared->changed.wait(lock, [&] { return shared->open; });
        ++shared->through;
        shared->changed.notify_all();
        return result;
      },
      2);
  auto says = [&](const std::string& kind, const std::stop_token& stop = {}) {
    auto r = work(command("cmd_1", kind), stop);
    return r ? r->output : "nothing";
  };
  CHECK(says("quick") == "out");
  CHECK(says("throws") == R"({"error":"failed"})");
  // What it says after its time was cut short.
  CHECK(says("heeds") == R"({"error":"timed-out"})");
  std::stop_source stopped;
  stopped.request_stop();
  CHECK(says("heeds", stopped.get_token()) == "nothing");
  CHECK(says("hangs") == R"({"error":"timed-out"})");
  CHECK(says("hangs") == R"({"error":"timed-out"})");
  CHECK(says("quick") == R"({"error":"busy"})");
  std::unique_lock lock{shared->mutex};
  shared->open = true;
  shared->changed.notify_all();
  REQUIRE(shared->changed.wait_for(lock, seconds{60},
                                   [&] { return shared->through == 2; }));
}

namespace {

struct machine {
  command_tools tools;
  texts said;
  machine() {
    tools.version = "1.2.3";
    tools.hardware = []() -> result<pki::hardware_claims> {
      pki::hardware_claims c;
      c.product_uuid = "9b1d2f3a-6c5e-4f70-8a91-b2c3d4e5f607";
      c.macs = {"3c:ec:ef:21:43:65"};
      return c;
    };
    tools.checks["good"] = [](const std::stop_token&) { return ok(); };
    tools.checks["bad"] = [](const std::stop_token&) -> result<void> {
      return fail(errc::invalid_state, "it is bad");
    };
    tools.say = [this](const std::string& line) { said.push_back(line); };
  }
  [[nodiscard]] std::string run(std::string kind, std::string payload = "{}") {
    auto r = carry_out(command("cmd_1", std::move(kind), std::move(payload)),
                       tools, {});
    CHECK(r.command_id == "cmd_1");
    return (r.succeeded ? "+ " : "- ") + r.output;
  }
};

}  // namespace

TEST_CASE("command kinds: what each says") {
  machine m;
  CHECK(m.run("ping") == R"(+ {"pong":true,"version":"1.2.3"})");
  CHECK(m.run("inventory.collect") ==
        R"(+ {"claims":{"productUuid":"9b1d2f3a-6c5e-4f70-8a91-b2c3d4e5f607",)"
        R"("macs":["3c:ec:ef:21:43:65"]}})");
  for (const auto* kind : {"pong", "inventory", "ping.", "Ping", "bc.ping"})
    CHECK(m.run(kind) == R"(- {"error":"unknown-kind"})");
  m.tools.hardware = []() -> result<pki::hardware_claims> {
    return fail(errc::invalid_state, "cannot read \"it\"");
  };
  CHECK(m.run("inventory.collect") == R"(- {"error":"cannot read \"it\""})");
}

TEST_CASE("command kinds: the checks that a pool names") {
  machine m;
  CHECK(m.run("acceptance.run", R"({"checks":["good"]})") ==
        R"(+ {"passed":true,"failed":[]})");
  CHECK(m.run("acceptance.run", R"({"checks":["bad","good","burn-in"]})") ==
        R"(+ {"passed":false,"failed":["bad","burn-in"]})");
  CHECK(m.said == texts{"acceptance: bad failed: it is bad",
                        "acceptance: burn-in failed: this bcd has no such "
                        "check"});
  CHECK(m.run("acceptance.run", R"({"checks":[]})") ==
        R"(+ {"passed":true,"failed":[]})");
  for (const auto* bad : {"{}", R"({"checks":"good"})", R"({"checks":[1]})"})
    CHECK(m.run("acceptance.run", bad) == R"(- {"error":"bad-payload"})");
}

TEST_CASE("acceptance: each check, well and not") {
  std::optional<milliseconds> offset{0};
  auto hardware = machine{}.tools.hardware;
  result<void> gateway = ok();
  acceptance_tools tools;
  tools.hardware = [&] { return hardware(); };
  tools.clock_offset = [&] { return offset; };
  tools.gateway = [&](const std::stop_token&) { return gateway; };
  tools.data_dir = "/nowhere";
  auto checks = acceptance_checks(std::move(tools));
  auto fails = [&](const std::string& name) {
    auto r = checks.at(name)({});
    return r ? std::string{} : r.error().message;
  };
  SECTION("hardware") {
    CHECK(fails("hardware").empty());
    hardware = []() -> result<pki::hardware_claims> {
      return fail(errc::invalid_state, "no DMI");
    };
    CHECK(fails("hardware") == "no DMI");
    hardware = []() -> result<pki::hardware_claims> {
      pki::hardware_claims c;
      c.macs = {"00:00:00:00:00:00"};
      return c;
    };
    CHECK_THAT(fails("hardware"), Catch::Contains("do not name one machine"));
  }
  SECTION("clock, to the millisecond") {
    for (int sign : {1, -1}) {
      offset = sign * milliseconds{60'000};
      CHECK(fails("clock").empty());
      offset = sign * milliseconds{60'001};
      CHECK_THAT(fails("clock"), Catch::Contains("clock is 60 s"));
    }
    offset.reset();
    CHECK_THAT(fails("clock"), Catch::Contains("has not told"));
  }
  SECTION("gateway") {
    CHECK(fails("gateway").empty());
    gateway = fail(errc::unavailable, "nobody answers");
    CHECK(fails("gateway") == "nobody answers");
  }
  SECTION("data folder") {
    CHECK_THAT(fails("data-folder"), Catch::Contains("/nowhere"));
  }
  CHECK(checks.size() == 4);
}

TEST_CASE("acceptance: a data folder in memory is lost by a restart") {
  constexpr decltype(statfs::f_type) tmpfs = 0x01021994;
  for (const auto& parent :
       {std::filesystem::path{"/dev/shm"},
        std::filesystem::temp_directory_path(), std::filesystem::path{"."}}) {
    temporary_folder folder{parent};
    struct statfs about {};
    REQUIRE(::statfs(folder.path().c_str(), &about) == 0);
    auto found = check_data_folder(folder.path());
    INFO(parent);
    CHECK(found.has_value() == (about.f_type != tmpfs));
    // Nothing is left there.
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}
