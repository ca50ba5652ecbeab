// spec: joining#join-flow step 6; CASES 69, 107. `bcd node` and its sessions:
// which identity they have, what they tell it, the commands they bring.
#include "tests/daemon/node_world.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace bc;
using namespace bc::daemon;
namespace fs = std::filesystem;

TEST_CASE("node: a time that comes by itself is gone by at once") {
  node_world w;
  w.join_since(std::chrono::hours{1});
  w.options.session = [&](const daemon::config&, const node_identity&,
                          const session_hooks& hooks, std::stop_token stop) {
    hooks.welcomed({});
    // The thread that renews hears of the session, and sleeps again.
    std::unique_lock lock{w.mutex};
    w.changed.wait_for(lock, seconds{30}, [&] {
      return std::any_of(w.notices.begin(), w.notices.end(), [](const auto& n) {
        return n.find("session: connected") != std::string::npos;
      });
    });
    lock.unlock();
    std::this_thread::sleep_for(milliseconds{200});
    hooks.server_time(system_clock{}.now() + std::chrono::hours{15});
    std::mutex own;
    std::unique_lock resting{own};
    std::condition_variable_any ended;
    ended.wait(resting, stop, [] { return false; });
    return session_outcome{session_outcome::end::stopped, "", true};
  };
  std::thread daemon{[&] { CHECK(w.run() == node_exit::stopped); }};
  {
    std::unique_lock lock{w.mutex};
    // Well before it would look at the clock by itself (longest_sleep).
    CHECK(w.changed.wait_for(lock, longest_sleep / 2, [&] {
      return std::any_of(w.said.begin(), w.said.end(), [](const auto& line) {
        return line.find("renewed; ") != std::string::npos;
      });
    }));
  }
  w.stop.request_stop();
  daemon.join();
}

TEST_CASE("node: a renewed identity takes over the session") {
  node_world w;
  w.join_since(std::chrono::hours{1});
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<time_point> sessions;  // the expiry of each one's certificate
  w.options.session = [&](const daemon::config&, const node_identity& me,
                          const session_hooks& hooks, std::stop_token stop) {
    hooks.welcomed({});
    // A machine that was asleep: the server is past the 60 % by now.
    hooks.server_time(system_clock{}.now() + std::chrono::hours{15});
    std::unique_lock lock{mutex};
    sessions.push_back(me.who.not_after);
    changed.notify_all();
    std::condition_variable_any ended;
    ended.wait(lock, stop, [] { return false; });
    return session_outcome{session_outcome::end::stopped, "", true};
  };
  w.options.send = [&](std::string_view body, const node_identity* me) {
    std::lock_guard lock{w.mutex};
    w.time.server = system_clock{}.now() + std::chrono::hours{15};
    return w.server.take(body, me);
  };
  std::thread daemon{[&] { CHECK(w.run() == node_exit::stopped); }};
  {
    std::unique_lock lock{mutex};
    const bool came = changed.wait_for(lock, seconds{60},
                                       [&] { return sessions.size() >= 2; });
    CHECK(came);
    CHECK((came && sessions[1] > sessions[0]));
  }
  w.wait_for(w.said, "connected to the gateway");
  w.stop.request_stop();
  daemon.join();
  CAPTURE(w.said);
  CHECK(sessions.size() >= 2);
}

TEST_CASE("node: a session's commands are carried out, each once") {
  node_world w;
  w.join_since(std::chrono::hours{1});
  auto reads = std::make_shared<std::atomic<int>>(0);
  w.options.version = "1.2.3";
  w.options.hardware = [reads]() -> result<pki::hardware_claims> {
    ++*reads;
    pki::hardware_claims c;
    c.hostname = "rack-c2-u07";
    return c;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<wire::command_result> got;
  int sessions = 0;
  // Two sessions, and the same commands in each.
  w.options.session = [&](const daemon::config&, const node_identity& me,
                          const session_hooks& hooks, std::stop_token stop) {
    auto now = system_clock{}.now();
    hooks.server_time(now);
    std::condition_variable_any poked;
    std::mutex own;
    hooks.ask_for_results([&] { poked.notify_all(); });
    for (const auto* kind : {"ping", "inventory.collect", "acceptance.run"})
      hooks.command({std::string{"cmd_"} + kind, me.who.node_id, kind,
                     R"({"checks":["clock","burn-in"]})", to_millis(now),
                     to_millis(now) + 60'000});
    std::unique_lock lock{own};
    while (hooks.results().size() < 3 && !stop.stop_requested())
      poked.wait_for(lock, stop, milliseconds{20}, [] { return false; });
    hooks.ask_for_results({});
    std::lock_guard among{mutex};
    got = hooks.results();
    ++sessions;
    changed.notify_all();
    return session_outcome{session_outcome::end::lost, "cut", true};
  };
  std::thread daemon{[&] { CHECK(w.run() == node_exit::stopped); }};
  {
    std::unique_lock lock{mutex};
    REQUIRE(changed.wait_for(lock, seconds{60}, [&] { return sessions >= 2; }));
  }
  w.stop.request_stop();
  daemon.join();
  REQUIRE(got.size() == 3);
  CHECK(got[0].output == R"({"pong":true,"version":"1.2.3"})");
  CHECK(got[1].output == R"({"claims":{"hostname":"rack-c2-u07"}})");
  CHECK(got[2].output == R"({"passed":false,"failed":["burn-in"]})");
  CHECK(*reads == 1);
  w.wait_for(w.said, "acceptance: burn-in failed");
}

TEST_CASE("node: a journal that cannot be read stops no session") {
  node_world w;
  w.join_since(std::chrono::hours{1});
  std::filesystem::create_directory(w.config.data_dir / "journal.db");
  w.options.hardware = []() -> result<pki::hardware_claims> {
    return pki::hardware_claims{};
  };
  std::atomic<bool> took{true};
  w.options.session = [&](const daemon::config&, const node_identity&,
                          const session_hooks& hooks, std::stop_token stop) {
    took = static_cast<bool>(hooks.command);
    hooks.welcomed({});
    std::mutex mutex;
    std::unique_lock lock{mutex};
    std::condition_variable_any ended;
    ended.wait(lock, stop, [] { return false; });
    return session_outcome{session_outcome::end::stopped, "", true};
  };
  std::thread daemon{[&] { CHECK(w.run() == node_exit::stopped); }};
  w.wait_for(w.said, "takes no commands: ");
  w.wait_for(w.said, "connected to the gateway");
  w.stop.request_stop();
  daemon.join();
  CHECK_FALSE(took);
}

TEST_CASE(
    "node: a session that is refused is not tried without pause "
    "(case 69)") {
  node_world w;
  w.join_since(std::chrono::hours{1});
  std::atomic<int> tried{0};
  w.options.session = [&](const daemon::config&, const node_identity&,
                          const session_hooks&, std::stop_token) {
    ++tried;
    return session_outcome{session_outcome::end::refused, "closed with 4403",
                           false};
  };
  std::thread daemon{[&] { CHECK(w.run() == node_exit::stopped); }};
  w.wait_for(w.said, "no session with the gateway: closed with 4403");
  w.wait_for(w.notices, "session: closed with 4403");
  w.stop.request_stop();
  daemon.join();
  CHECK(tried == 1);
  CHECK(decode_node_status(read_status(w.config.data_dir).value())
            .value()
            .session_refused);
}
