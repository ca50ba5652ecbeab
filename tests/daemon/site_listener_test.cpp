// The vouch listener on real sockets: whoever is on the provisioning network
// may talk to it.
#include "daemon/site_listener.hpp"

#include "daemon/gateway_client.hpp"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace bc;
using namespace bc::daemon;

namespace {

// A plain TCP connection to the listener.
class line {
 public:
  // From 127.0.0.`last`.
  explicit line(std::uint16_t port, unsigned last = 1)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(0x7f000000U + last);
    REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&from), sizeof from) == 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  }
  line(line&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  line& operator=(line&&) = delete;
  ~line() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  void send(const std::string& text) const {
    (void)::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  // All that comes until the other side ends.
  [[nodiscard]] std::string rest() const {
    std::string out;
    char buffer[4096];
    for (;;) {
      auto got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0)
        return out;
      out.append(buffer, static_cast<std::size_t>(got));
    }
  }

 private:
  int fd_;
};

std::string post(const std::string& body) {
  return "POST /v1/vouch HTTP/1.1\r\nHost: a\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

struct world {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<vouch_question> asked;
  std::vector<std::string> said;
  bool held = false;  // answers wait
  std::optional<vouch_listener> listener{
      std::in_place, endpoint{"127.0.0.1", "0"},
      [this](const vouch_question& q) -> vouch_answer {
        std::unique_lock lock{mutex};
        asked.push_back(q);
        changed.notify_all();
        changed.wait(lock, [this] { return !held; });
        return std::string{"a.b.c"};
      },
      [this](const std::string& text) {
        std::lock_guard lock{mutex};
        said.push_back(text);
      }};

  [[nodiscard]] std::uint16_t port() const { return listener->port(); }
  void end() { listener.reset(); }
  std::size_t count() {
    std::lock_guard lock{mutex};
    return asked.size();
  }
};

}  // namespace

TEST_CASE("listener: a request and its answer, by bcd's own client") {
  world w;
  REQUIRE(w.port() != 0);
  auto got = post_in_clear({"127.0.0.1", std::to_string(w.port())}, "/v1/vouch",
                           "{\"a\":1}");
  REQUIRE(got.what == exchange::fate::answered);
  CHECK(got.status == 200);
  CHECK(got.body == R"({"vouch":"a.b.c"})");
  REQUIRE(w.asked.size() == 1);
  const auto& q = w.asked[0];
  CHECK(q.method == "POST");
  CHECK(q.path == "/v1/vouch");
  CHECK(q.body == "{\"a\":1}");
  CHECK(q.ip == "127.0.0.1");
  CHECK(q.from[10] == 0xff);
  CHECK(q.from[12] == 127);
  CHECK(w.said ==
        std::vector<std::string>{"gives vouches at http://127.0.0.1:" +
                                 std::to_string(w.port())});
}

TEST_CASE("listener: nothing listens: bcd's client says so") {
  std::uint16_t port = 0;
  {
    world w;
    port = w.port();
  }
  auto got =
      post_in_clear({"127.0.0.1", std::to_string(port)}, "/v1/vouch", "{}");
  CHECK(got.what == exchange::fate::unreachable);
}

TEST_CASE("listener: one answer, then the end") {
  world w;
  line l{w.port()};
  l.send(post("{}") + post("{}"));
  auto all = l.rest();
  CHECK_THAT(all, Catch::StartsWith("HTTP/1.1 200"));
  CHECK_THAT(all, Catch::Contains("Connection: close"));
  CHECK(all.find("HTTP/1.1", 5) == std::string::npos);
  CHECK(w.count() == 1);
}

TEST_CASE("listener: what is too large or no HTTP reaches nobody") {
  world w;
  const std::string rows[] = {
      post(std::string(max_vouch_request + 1, 'x')),
      "POST /v1/vouch HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n1800\r\n" +
          std::string(0x1800, 'x') + "\r\n0\r\n\r\n",
      "POST /v1/vouch HTTP/1.1\r\nA: " + std::string(8'000, 'x') + "\r\n\r\n",
      "HELO there\r\n\r\n",
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) +
          std::string(200, '\1') + "\r\n\r\n",
  };
  for (const auto& text : rows) {
    INFO(text.substr(0, 40));
    line l{w.port()};
    l.send(text);
    auto all = l.rest();
    CHECK((all.empty() || all.starts_with("HTTP/1.1 400")));
  }
  CHECK(w.count() == 0);
  // As large as it may be.
  line l{w.port()};
  l.send(post(std::string(max_vouch_request, 'x')));
  CHECK_THAT(l.rest(), Catch::StartsWith("HTTP/1.1 200"));
  CHECK(w.count() == 1);
}

TEST_CASE("listener: who is slow is cut off, and holds up nobody") {
  world w;
  std::vector<line> slow;
  for (std::size_t i = 0; i < vouch_listener::most_of_one; ++i) {
    slow.emplace_back(w.port());
    slow.back().send("POST /v1/vouch HTTP/1.1\r\nHost: a\r\n");
  }
  // Of this address there are no more; of another there are.
  line more{w.port()};
  more.send(post("{}"));
  CHECK(more.rest().empty());
  line l{w.port(), 2};
  l.send(post("{}"));
  CHECK_THAT(l.rest(), Catch::StartsWith("HTTP/1.1 200"));
  // The end comes from the other side, after its patience.
  for (const auto& s : slow)
    CHECK(s.rest().empty());
  CHECK(w.count() == 1);
  // Its place is free once the listener has seen to it.
  for (;;) {
    line again{w.port()};
    again.send(post("{}"));
    if (again.rest().starts_with("HTTP/1.1 200"))
      break;
  }
}

TEST_CASE("listener: no more connections than it holds") {
  world w;
  std::vector<line> open;
  for (std::size_t i = 0; i < vouch_listener::most_connections; ++i)
    open.emplace_back(
        w.port(), static_cast<unsigned>(10 + i / vouch_listener::most_of_one));
  // Connections are taken in order, so this one comes after all of them.
  line over{w.port(), 2};
  over.send(post("{}"));
  CHECK(over.rest().empty());
  open.clear();
  // Once they are gone there is room again; when, the kernel says.
  for (;;) {
    line l{w.port(), 2};
    l.send(post("{}"));
    if (l.rest().starts_with("HTTP/1.1 200"))
      break;
  }
  CHECK(w.count() == 1);
}

TEST_CASE("listener: ends while connections wait and an answer is made") {
  auto w = std::make_unique<world>();
  w->held = true;
  line idle{w->port()};
  line busy{w->port()};
  busy.send(post("{}"));
  {
    std::unique_lock lock{w->mutex};
    w->changed.wait(lock, [&] { return !w->asked.empty(); });
  }
  std::thread release{[&] {
    std::lock_guard lock{w->mutex};
    w->held = false;
    w->changed.notify_all();
  }};
  release.join();
  w.reset();
  (void)idle.rest();
  (void)busy.rest();
}

namespace {

std::size_t threads_of_this_process() {
  return static_cast<std::size_t>(std::distance(
      std::filesystem::directory_iterator{"/proc/self/task"}, {}));
}

}  // namespace

TEST_CASE("listener: at its end what waits for an answer gets none") {
  world w;
  w.held = true;
  std::vector<line> waiting;
  for (unsigned from = 2; from < 6; ++from) {
    waiting.emplace_back(w.port(), from);
    waiting.back().send(post("{}"));
  }
  // Connections are taken and read in order, so all of them wait by now.
  line after{w.port()};
  after.send("HELO there\r\n\r\n");
  (void)after.rest();
  {
    std::unique_lock lock{w.mutex};
    w.changed.wait(lock, [&] { return !w.asked.empty(); });
  }
  std::atomic<bool> watching{false};
  const auto threads = threads_of_this_process() + 1;
  std::thread release{[&] {
    watching = true;
    // Its thread for connections is gone: it is about to end.
    while (threads_of_this_process() >= threads)
      std::this_thread::sleep_for(milliseconds{1});
    std::lock_guard lock{w.mutex};
    w.held = false;
    w.changed.notify_all();
  }};
  while (!watching)
    std::this_thread::yield();
  w.end();
  release.join();
  CHECK(w.asked.size() == 1);
}

TEST_CASE("listener: an answer that cannot be made is one, and not the end") {
  std::vector<std::string> said;
  bool fails = true;
  vouch_listener listener{{"127.0.0.1", "0"},
                          [&](const vouch_question&) -> vouch_answer {
                            if (fails)
                              throw std::runtime_error("no memory");
                            return std::string{"a.b.c"};
                          },
                          [&](const std::string& t) { said.push_back(t); }};
  const auto port = std::to_string(listener.port());
  auto got = post_in_clear({"127.0.0.1", port}, "/v1/vouch", "{}");
  CHECK(got.status == 503);
  CHECK(got.body ==
        R"({"code":"busy","message":"the agent cannot answer now"})");
  CHECK(said.back() == "cannot vouch: no memory");
  fails = false;
  CHECK(post_in_clear({"127.0.0.1", port}, "/v1/vouch", "{}").status == 200);
}

TEST_CASE("listener: an address that is taken is tried again, and said once") {
  world first;
  std::vector<std::string> said;
  vouch_listener second{{"127.0.0.1", std::to_string(first.port())},
                        [](const vouch_question&) -> vouch_answer {
                          return std::string{"a.b.c"};
                        },
                        [&said](const std::string& t) { said.push_back(t); }};
  CHECK(second.port() == 0);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Catch::StartsWith("cannot listen for ramdisks at "
                                        "127.0.0.1:"));
}

TEST_CASE("listener: on an IPv6 socket an IPv4 address is itself") {
  std::mutex mutex;
  std::vector<vouch_question> asked;
  vouch_listener listener{{"::", "0"},
                          [&](const vouch_question& q) -> vouch_answer {
                            std::lock_guard lock{mutex};
                            asked.push_back(q);
                            return std::string{"a.b.c"};
                          },
                          [](const std::string&) {}};
  if (listener.port() == 0) {
    WARN("this machine has no IPv6");
    return;
  }
  const auto port = std::to_string(listener.port());
  CHECK(post_in_clear({"127.0.0.1", port}, "/v1/vouch", "{}").status == 200);
  CHECK(post_in_clear({"::1", port}, "/v1/vouch", "{}").status == 200);
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].ip == "127.0.0.1");
  CHECK(asked[0].from[11] == 0xff);
  CHECK(asked[1].ip == "::1");
  CHECK(asked[1].from[11] == 0);
}
