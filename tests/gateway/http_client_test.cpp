// URLs, and what the client says when there is no answer.

#include "gateway/url.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

fault failure_of(const std::string& url, const std::string& path = "/",
                 const std::map<std::string, std::string>& headers = {}) {
  client_options options;
  options.url = url;
  options.timeout = seconds{1};
  auto answer = send_request(options, "GET", path, headers, "");
  REQUIRE(!answer);
  return answer.error();
}

/// A listener that never accepts, or answers with fixed bytes.
class fake_listener {
 public:
  fake_listener() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* raw = reinterpret_cast<sockaddr*>(&at);
    socklen_t size = sizeof at;
    REQUIRE(::bind(fd_, raw, size) == 0);
    REQUIRE(::listen(fd_, 4) == 0);
    REQUIRE(::getsockname(fd_, raw, &size) == 0);
    port_ = ntohs(at.sin_port);
  }
  fake_listener(const fake_listener&) = delete;
  fake_listener& operator=(const fake_listener&) = delete;
  ~fake_listener() { close(); }

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_);
  }
  void close() {
    if (fd_ >= 0)
      ::close(fd_);
    fd_ = -1;
  }
  /// Reads the request's head, sends the text and closes.
  void answer(std::string_view text) const {
    int one = ::accept(fd_, nullptr, nullptr);
    std::string head;
    char c = 0;
    while (!head.ends_with("\r\n\r\n") && ::recv(one, &c, 1, 0) == 1)
      head += c;
    ::send(one, text.data(), text.size(), MSG_NOSIGNAL);
    ::close(one);
  }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

}  // namespace

TEST_CASE("http_client: URLs") {
  auto check = [](std::string_view text, bool tls, std::string_view host,
                  int port) {
    auto url = parse_url(text);
    INFO(text);
    REQUIRE(url);
    CHECK(url.value().tls == tls);
    CHECK(url.value().host == host);
    CHECK(url.value().port == port);
  };
  check("http://127.0.0.1:8080", false, "127.0.0.1", 8080);
  check("http://localhost:1/", false, "localhost", 1);
  check("https://gw.eu.example.com", true, "gw.eu.example.com", 443);
  check("https://[::1]:8443", true, "::1", 8443);
  check("https://[::1]", true, "::1", 443);
  for (const auto* text :
       {"", "127.0.0.1:80", "ftp://h", "https://", "https://:1",
        "http://h:", "http://h:0", "http://h:65536", "http://h:8o",
        "http://u@h", "http://h/path", "http://h?q", "https://[::1",
        "https://[h]", "https://[::1]8", "http://h h", "http://h//"}) {
    INFO(text);
    auto url = parse_url(text);
    REQUIRE(!url);
    CHECK(url.error().code == errc::invalid_input);
  }
}

TEST_CASE("http_client: loopback is what cannot leave the machine") {
  for (const auto* host : {"127.0.0.1", "127.9.8.7", "::1", "localhost"})
    CHECK(is_loopback(host));
  for (const auto* host : {"128.0.0.1", "0.0.0.0", "::2", "localhost.example",
                           "127.0.0.1.example.com", "10.0.0.1", "127.1"})
    CHECK(!is_loopback(host));
}

TEST_CASE("http_client: plain HTTP to another machine is refused unsent") {
  auto fault = failure_of("http://192.0.2.1:80");
  CHECK(fault.code == errc::invalid_input);
  CHECK(fault.message ==
        "plain http is for loopback addresses only; use https: "
        "http://192.0.2.1:80");
}

TEST_CASE("http_client: a closed port is named") {
  fake_listener listener;
  auto url = listener.url();
  listener.close();
  auto fault = failure_of(url);
  CHECK(fault.code == errc::unavailable);
  CHECK(fault.message == "cannot reach " + url + ": connection refused");
}

TEST_CASE("http_client: a server that never answers ends at the deadline") {
  fake_listener listener;
  auto fault = failure_of(listener.url());
  CHECK(fault.code == errc::unavailable);
  CHECK(fault.message == listener.url() + " did not answer within 1 s");
}

TEST_CASE("http_client: half an answer, none, and nonsense are UNAVAILABLE") {
  auto text = GENERATE(as<std::string>{}, "", "HTTP/1.1 200 OK\r\ncontent-len",
                       "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab",
                       "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 999999\r\n\r\n");
  fake_listener listener;
  std::thread server{[&] { listener.answer(text); }};
  auto fault = failure_of(listener.url());
  server.join();
  CHECK(fault.code == errc::unavailable);
  CHECK(fault.message.find(listener.url()) != std::string::npos);
}

// Head and body in one segment, which is where Beast 1.74 forgets the limit.
TEST_CASE("http_client: an answer over 16 MiB is not taken") {
  auto text = GENERATE(as<std::string>{},
                       "HTTP/1.1 200 OK\r\ncontent-length: 16777217\r\n\r\nab",
                       "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                       "1000001\r\nab");
  fake_listener listener;
  std::thread server{[&] { listener.answer(text); }};
  auto fault = failure_of(listener.url());
  server.join();
  CHECK(fault.code == errc::unavailable);
  CHECK(fault.message ==
        "the answer of " + listener.url() + " is larger than 16777216 bytes");
}

TEST_CASE("http_client: the host and the caller's headers are sent") {
  auto server = serve({}, [](http_request request, respond done) {
    http_response out;
    out.status = 202;
    out.body = request.headers.at("host") + " " +
               request.headers.at("authorization") + " " +
               request.headers.at("content-type");
    done(std::move(out));
  });
  client_options options;
  options.url = url_of(*server);
  auto answer =
      send_request(options, "POST", "/", {{"authorization", "x"}}, "{}");
  REQUIRE(answer);
  CHECK(answer.value().status == 202);
  CHECK(answer.value().body ==
        "127.0.0.1:" + std::to_string(server->port()) + " x application/json");
}

TEST_CASE("http_client: nothing can break out of the request's lines") {
  CHECK(failure_of("http://127.0.0.1:1", "/a b").code == errc::invalid_input);
  CHECK(failure_of("http://127.0.0.1:1", "a").code == errc::invalid_input);
  CHECK(failure_of("http://127.0.0.1:1", "/", {{"x", "a\r\nb: c"}}).code ==
        errc::invalid_input);
}

TEST_CASE("http_client: a CA file that is not there is INVALID_INPUT") {
  client_options options;
  options.url = "https://127.0.0.1:1";
  options.ca_file = "/nonexistent/ca.pem";
  auto answer = send_request(options, "GET", "/", {}, "");
  REQUIRE(!answer);
  CHECK(answer.error().code == errc::invalid_input);
  CHECK(answer.error().message.find("/nonexistent/ca.pem") !=
        std::string::npos);
}
