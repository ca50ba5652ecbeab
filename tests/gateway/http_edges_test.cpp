// Where a peer is careless or means harm: Host (RFC 9112 section 3.2), many
// connections of one peer, slow ones (CASES 139).
#include "gateway/request_head.hpp"
#include "support.hpp"
#include "tls_peer.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <deque>
#include <filesystem>
#include <thread>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

std::string status_line(const std::string& answer) {
  return answer.substr(0, answer.find("\r\n"));
}

std::size_t open_descriptors() {
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
    n += entry.exists() ? 1 : 0;
  return n;
}

template <class F>
bool comes_true(F&& f) {
  auto end = std::chrono::steady_clock::now() + seconds{20};
  while (!f()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(milliseconds{10});
  }
  return true;
}

}  // namespace

TEST_CASE("http_edges: HTTP/1.1 without exactly one Host is 400 and over") {
  auto server = serve({});
  auto text = GENERATE(values<std::string>({
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
      "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
  }));
  CAPTURE(text);
  raw_socket client{server->port()};
  client.send(text);
  CHECK(status_line(client.read_answer()) == "HTTP/1.1 400 Bad Request");
  CHECK(client.at_end());
}

TEST_CASE("http_edges: a Host that may be one is served") {
  auto server = serve({});
  auto host = GENERATE(as<std::string>{}, "", "a", "gw.example.com:8443",
                       "[2001:db8::1]:80", "192.0.2.1", "xn--a_b.example");
  raw_socket client{server->port()};
  client.send("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  CHECK(status_line(client.read_answer()) == "HTTP/1.1 200 OK");
  raw_socket old{server->port()};
  old.send("GET / HTTP/1.0\r\n\r\n");
  CHECK(status_line(old.read_answer()) == "HTTP/1.1 200 OK");
}

TEST_CASE("http_edges: one peer's connections are bounded, and given back") {
  server_options o;
  o.max_connections_per_peer = 2;
  auto server = serve(o);
  auto is_served = [&](raw_socket& client) {
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    return status_line(client.read_answer()) == "HTTP/1.1 200 OK";
  };
  raw_socket first{server->port()};
  CHECK(is_served(first));
  {
    raw_socket second{server->port()};
    CHECK(is_served(second));
    raw_socket third{server->port()};
    CHECK(third.is_over());
    CHECK(is_served(first));
  }
  CHECK(comes_true([&] {
    raw_socket again{server->port()};
    return is_served(again);
  }));
}

TEST_CASE("http_edges: slow connections cost honest ones nothing (case 139)") {
  bool tls = GENERATE(false, true);
  CAPTURE(tls);
  tls_setup setup{{"127.0.0.1"}};
  server_options o;
  o.read_timeout = seconds{2};
  if (tls)
    o.tls = setup.identity;
  auto server = serve(o);
  auto before = open_descriptors();
  {
    // Silent, in the middle of a head, of a body, of a TLS handshake.
    const std::vector<std::string> starts{
        "", "GET / HTTP/1.1\r\nHo",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n",
        std::string("\x16\x03\x01\x02\x00\x01", 6)};
    std::deque<raw_socket> slow;
    for (std::size_t i = 0; i < 400; ++i) {
      slow.emplace_back(server->port());
      slow.back().send(starts[i % starts.size()]);
    }
    client_options to;
    to.url = url_of(*server, tls);
    to.ca_file = setup.ca_file;
    for (int i = 0; i < 20; ++i) {
      auto answer = send_request(to, "POST", "/x", {}, "b");
      REQUIRE(answer);
      CHECK(answer.value().status == 200);
    }
    // A byte now and then does not save them.
    CHECK(comes_true([&] {
      std::size_t left = 0;
      for (auto& one : slow)
        left += one.send("x") ? 1 : 0;
      std::this_thread::sleep_for(milliseconds{100});
      return left == 0;
    }));
  }
  CHECK(comes_true([&] { return open_descriptors() <= before; }));
}

TEST_CASE(
    "http_edges: a client that never reads its answer is dropped (case "
    "139)") {
  server_options o;
  o.read_timeout = seconds{1};
  auto server = serve(o, [](http_request, respond done) {
    http_response out;
    out.body = std::string(32 * 1024 * 1024, 'x');
    done(std::move(out));
  });
  auto before = open_descriptors();
  raw_socket client;
  int small = 4096;
  ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  client.connect(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  // The server's own descriptor goes, while the client's is still here.
  CHECK(comes_true([&] { return open_descriptors() <= before + 1; }));
  CHECK(client.read_answer().size() < 32 * 1024 * 1024);
}
