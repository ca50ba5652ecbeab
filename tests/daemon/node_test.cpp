// CASES 69, 107, 108, 178: `bcd node` with its threads, on real clocks.
#include "daemon/node.hpp"

#include "base/fault_point.hpp"
#include "daemon/service_notice.hpp"
#include "daemon/waker.hpp"
#include "tests/daemon/node_world.hpp"

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

TEST_CASE("node: renews what is due, tells the manager, stops when told") {
  node_world w;
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
  node_world w;
  w.join_since(std::chrono::hours{1});
  std::thread daemon{[&] { CHECK(w.run() == node_exit::stopped); }};
  w.wait_for(w.notices, "STATUS=");
  w.stop.request_stop();
  daemon.join();
  CHECK(w.server.requests.empty());
}

TEST_CASE("node: the certificate is over: says so and ends (case 108)") {
  node_world w;
  w.join_since(std::chrono::hours{25});
  CHECK(w.run() == node_exit::needs_person);
  CHECK_THAT(w.said.back(),
             Catch::StartsWith("the certificate expired at ") &&
                 Catch::EndsWith("; join again as root: bcd join --reset "
                                 "--yes, then bcd join"));
}

TEST_CASE("node: the certificate is over: it joins again by it (case 108)") {
  node_world w;
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
  node_world w;
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
  node_world w;
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
  node_world w;
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
  node_world w;
  w.join_since(std::chrono::hours{1});
  std::thread first{[&] { CHECK(w.run() == node_exit::stopped); }};
  w.wait_for(w.notices, "READY=1");
  node_world other;
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
