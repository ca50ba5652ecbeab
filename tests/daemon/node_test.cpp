// CASES 69, 107, 108, 178: `bcd node` with its threads, on real clocks.
#include "daemon/node.hpp"

#include "base/fault_point.hpp"
#include "daemon/service_notice.hpp"
#include "daemon/waker.hpp"
#include "tests/daemon/fake_rejoins.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

using namespace bc;
using namespace bc::daemon;
namespace fs = std::filesystem;

namespace {

// A daemon on the machine's clocks whose server is in the same process.
struct world {
  temporary_folder folder;
  virtual_world time{system_clock{}.now()};
  fake_renewals server{time};
  daemon::config config = server.gateway.config(folder);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> said;
  std::vector<std::string> notices;
  node_options options;
  std::stop_source stop;

  world() {
    // The gateway's certificate must be good by the machine's clock.
    server.gateway.server =
        pki::issue_server_certificate(server.gateway.keys.serving_ca,
                                      {"gw.example.com"}, time.server)
            .value();
    options.say = [this](const std::string& line) { note(said, line); };
    options.notify = [this](const std::string& s) { note(notices, s); };
    options.send = [this](std::string_view body, const node_identity* me) {
      std::lock_guard lock{mutex};
      time.server = system_clock{}.now();
      return server.take(body, me);
    };
  }
  void note(std::vector<std::string>& where, const std::string& what) {
    {
      std::lock_guard lock{mutex};
      where.push_back(what);
    }
    changed.notify_all();
  }
  void join_since(milliseconds ago) {
    time.server = system_clock{}.now() - ago;
    auto me = server.identity();
    auto store = identity_store::open(config.data_dir).value();
    REQUIRE(store.keep(me.key, me.who));
  }
  // Until a line with this text was said.
  void wait_for(std::vector<std::string>& where, const std::string& text) {
    std::unique_lock lock{mutex};
    REQUIRE(changed.wait_for(lock, seconds{60}, [&] {
      return std::any_of(where.begin(), where.end(), [&](const auto& line) {
        return line.find(text) != std::string::npos;
      });
    }));
  }
  node_exit run() { return run_node(config, options, stop.get_token()); }
};

}  // namespace

TEST_CASE("node: renews what is due, tells the manager, stops when told") {
  world w;
  w.join_since(std::chrono::hours{16});
  node_exit code{};
  std::thread daemon{[&] { code = w.run(); }};
  w.wait_for(w.said, "renewed; the certificate expires at");
  w.wait_for(w.notices, "READY=1");
  w.wait_for(w.notices, "STATUS=node_");
  w.stop.request_stop();
  daemon.join();
  CHECK(code == node_exit::stopped);
  CHECK(w.notices.back() == "STOPPING=1");
  auto look = look_at_identity(w.config.data_dir).value();
  REQUIRE(look.pair);
  CHECK(look.pair->who.not_after >
        system_clock{}.now() + std::chrono::hours{23});
  auto status = decode_node_status(read_status(w.config.data_dir).value_or(""));
  REQUIRE(status);
  CHECK(status.value().state == renewal_state::fine);
  CHECK(status.value().last_renewal);
}

TEST_CASE("node: a stop while nothing is due ends the sleep") {
  world w;
  w.join_since(std::chrono::hours{1});
  std::thread daemon{[&] { CHECK(w.run() == node_exit::stopped); }};
  w.wait_for(w.notices, "STATUS=");
  w.stop.request_stop();
  daemon.join();
  CHECK(w.server.requests.empty());
}

TEST_CASE("node: the certificate is over: says so and ends (case 108)") {
  world w;
  w.join_since(std::chrono::hours{25});
  CHECK(w.run() == node_exit::needs_person);
  CHECK_THAT(w.said.back(),
             Catch::StartsWith("the certificate expired at ") &&
                 Catch::EndsWith("; join again as root: bcd join --reset "
                                 "--yes, then bcd join"));
}

TEST_CASE("node: the certificate is over: it joins again by it (case 108)") {
  world w;
  fake_rejoins back{w.time, w.server};
  w.options.hardware = [] { return fake_machine{}.read(); };
  w.options.post = [&](std::string_view path, std::string_view body) {
    std::lock_guard lock{w.mutex};
    w.time.server = system_clock{}.now();
    return back.post(path, body);
  };
  w.join_since(std::chrono::hours{25});
  node_exit code{};
  std::thread daemon{[&] { code = w.run(); }};
  w.wait_for(w.said, "joined again by the expired certificate");
  w.stop.request_stop();
  daemon.join();
  CHECK(code == node_exit::stopped);
  auto look = look_at_identity(w.config.data_dir).value();
  REQUIRE(look.pair);
  CHECK(look.pair->who.not_after >
        system_clock{}.now() + std::chrono::hours{23});
  CHECK(back.issued == 1);
}

TEST_CASE("node: a clock that is days ahead does not close the way back") {
  world w;
  fake_rejoins back{w.time, w.server};
  // By the machine's clock the window is over, by the server's it is not.
  const auto ahead = rejoin_window + std::chrono::hours{24};
  w.join_since(std::chrono::hours{25} + ahead);
  const auto server_now = [ahead] { return system_clock{}.now() - ahead; };
  w.server.gateway.server =
      pki::issue_server_certificate(w.server.gateway.keys.serving_ca,
                                    {"gw.example.com"}, server_now())
          .value();
  w.options.hardware = [] { return fake_machine{}.read(); };
  w.options.send = [&](std::string_view body, const node_identity* me) {
    std::lock_guard lock{w.mutex};
    w.time.server = server_now();
    return w.server.take(body, me);
  };
  w.options.post = [&](std::string_view path, std::string_view body) {
    std::lock_guard lock{w.mutex};
    w.time.server = server_now();
    return back.post(path, body);
  };
  node_exit code{};
  std::thread daemon{[&] { code = w.run(); }};
  w.wait_for(w.said, "joined again by the expired certificate");
  w.stop.request_stop();
  daemon.join();
  CHECK(code == node_exit::stopped);
  // At the first try.
  CHECK(std::none_of(w.said.begin(), w.said.end(), [](const auto& line) {
    return line.find("joining again failed") != std::string::npos ||
           line.find("lets this machine join again neither") !=
               std::string::npos ||
           line.find("does not let this machine") != std::string::npos;
  }));
}

TEST_CASE("node: no identity, or none that loads (case 177)") {
  world w;
  SECTION("never joined") {
    CHECK(w.run() == node_exit::local);
    CHECK_THAT(w.said.back(), Catch::Contains("has not joined"));
  }
  SECTION("damaged") {
    w.join_since(std::chrono::hours{1});
    write_text(w.config.data_dir / "identity.json", "{");
    CHECK(w.run() == node_exit::needs_person);
    CHECK_THAT(w.said.back(), Catch::Contains("does not load") &&
                                  Catch::Contains("--reset --yes"));
  }
  CHECK(w.notices.empty());
}

TEST_CASE("node: a join that was cut short is named, and how it ends") {
  world w;
  w.time.server = system_clock{}.now();
  auto me = w.server.identity();
  {
    auto store = identity_store::open(w.config.data_dir).value();
    REQUIRE(store.pending());
    CHECK(w.said.empty());
    arm(fault_point::daemon_before_identity, fault_action::error);
    CHECK_FALSE(store.keep(me.key, me.who));
    disarm_all();
  }
  // May pass by itself: whoever joins runs the join again.
  CHECK(w.run() == node_exit::local);
  CHECK(w.said.back() ==
        "the join of this machine was cut short: identity.json is missing; run "
        "bcd join again with the same token");
  CHECK(w.notices.empty());
}

TEST_CASE("node: the second daemon on one folder is turned away (case 178)") {
  world w;
  w.join_since(std::chrono::hours{1});
  std::thread first{[&] { CHECK(w.run() == node_exit::stopped); }};
  w.wait_for(w.notices, "READY=1");
  world other;
  other.config.data_dir = w.config.data_dir;
  CHECK(other.run() == node_exit::local);
  CHECK(other.said.back() ==
        "another bcd runs (pid " + std::to_string(::getpid()) +
            "); stop the service first: systemctl stop bcd");
  // `bcd join` says what it says without it, a reset that it must stop; the
  // token is not even asked for.
  fake_machine machine;
  auto no_token = []() -> result<secret_bytes> {
    FAIL("the token was asked for");
    return secret_bytes{};
  };
  auto outcome = run_join(w.config, machine, no_token);
  CHECK(outcome.exit_code == join_exit::joined);
  CHECK(outcome.already_joined);
  CHECK_THAT(outcome.message, Catch::StartsWith("already joined as node_"));
  join_options reset;
  reset.reset = true;
  outcome = run_join(w.config, machine, no_token, reset);
  CHECK(outcome.exit_code == join_exit::local);
  CHECK_THAT(outcome.message, Catch::Contains("systemctl stop bcd"));
  w.stop.request_stop();
  first.join();
}

TEST_CASE("node: a renewed identity takes over the session") {
  world w;
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
  world w;
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
  world w;
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
  world w;
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

TEST_CASE("session wait: slow after a refusal, quick after a loss") {
  using end = session_outcome::end;
  for (unsigned random : {0U, 500U, 999U}) {
    CHECK(session_wait({end::lost, "", true}, 0, random) <= seconds{1});
    CHECK(session_wait({end::lost, "", false}, 100, random) <= seconds{300});
    CHECK(session_wait({end::lost, "", false}, 100, random) >= seconds{150});
    for (auto slow : {end::refused, end::superseded})
      CHECK(session_wait({slow, "", true}, 0, random) >= seconds{60});
  }
}

TEST_CASE("service notice: a datagram where systemd listens") {
  temporary_folder folder;
  auto path = (folder / "notify").string();
  int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address),
                 sizeof address) == 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  notify_service("READY=1\nSTATUS=well");
  ::setenv("NOTIFY_SOCKET", "relative", 1);
  notify_service("READY=2");
  ::unsetenv("NOTIFY_SOCKET");
  notify_service("READY=3");
  std::string got(100, '\0');
  auto size = ::recv(socket, got.data(), got.size(), MSG_DONTWAIT);
  REQUIRE(size > 0);
  CHECK(got.substr(0, static_cast<std::size_t>(size)) ==
        "READY=1\nSTATUS=well");
  CHECK(::recv(socket, got.data(), got.size(), MSG_DONTWAIT) < 0);
  ::close(socket);
}

TEST_CASE("waker: woken from outside, also before it sleeps (case 100)") {
  waker w;
  w.wake();
  auto before = read_clocks().since_boot;
  w.sleep(std::chrono::hours{1});
  std::thread later{[&w] { w.wake(); }};
  w.sleep(std::chrono::hours{1});
  later.join();
  CHECK(read_clocks().since_boot - before < std::chrono::hours{1});
  // And by its own time.
  before = read_clocks().since_boot;
  w.sleep(milliseconds{20});
  CHECK(read_clocks().since_boot - before >= milliseconds{19});
}
