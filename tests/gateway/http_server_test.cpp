// The plain HTTP side of the server: what it reads, what it refuses, when it
// ends a connection (CASES 138, 139).

#include "base/json.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <thread>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

server_options small() {
  server_options out;
  out.max_body = 1000;
  return out;
}

std::string status_of(const std::string& answer) {
  return answer.substr(0, answer.find("\r\n"));
}

std::string post(const std::string& headers, const std::string& body) {
  return "POST /x HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n" + body;
}

}  // namespace

TEST_CASE(
    "http_server: a request reaches the handler and its answer the "
    "client") {
  auto server = serve({});
  auto answer = ask(*server, "POST", "/a/b?c=%20d&e", "hello");
  CHECK(answer.status == 200);
  CHECK(answer.body == "POST /a/b?c=%20d&e hello");
  CHECK(ask(*server, "GET", "/a").body == "GET /a? ");
}

TEST_CASE("http_server: header names are lower case and the first counts") {
  auto server = serve({}, [](http_request request, respond done) {
    http_response out;
    out.headers["x-saw"] = request.headers.at("x-name");
    out.headers["x-bad"] = "line\r\nbreak";
    done(std::move(out));
  });
  raw_socket client{server->port()};
  client.send(
      "GET / HTTP/1.1\r\nHost: h\r\nX-NAME: one\r\nx-name: two\r\n\r\n");
  auto answer = client.read_answer();
  CHECK(answer.find("x-saw: one\r\n") != std::string::npos);
  CHECK(answer.find("x-bad") == std::string::npos);
}

TEST_CASE(
    "http_server: a connection is kept and pipelined requests are "
    "answered in order") {
  auto server = serve({});
  raw_socket client{server->port()};
  client.send(post("Content-Length: 3\r\n", "one") +
              "GET /two HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(client.read_answer().ends_with("POST /x? one"));
  CHECK(client.read_answer().ends_with("GET /two? "));
  client.send("GET /three HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  auto last = client.read_answer();
  CHECK(last.ends_with("GET /three? "));
  CHECK(last.find("connection: close\r\n") != std::string::npos);
  CHECK(client.at_end());
}

TEST_CASE("http_server: HEAD has the length and no body") {
  auto server = serve({});
  raw_socket client{server->port()};
  client.send(
      "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  auto head = client.read_to("\r\n\r\n");
  CHECK(head.find("content-length: 9\r\n") != std::string::npos);
  CHECK(client.read_answer().ends_with("GET /b? "));
}

TEST_CASE("http_server: HTTP/1.0 is answered and closed") {
  auto server = serve({});
  raw_socket client{server->port()};
  client.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(client.read_answer().ends_with("GET /a? "));
  CHECK(client.at_end());
}

TEST_CASE("http_server: Expect: 100-continue is answered before the body") {
  auto server = serve(small());
  raw_socket client{server->port()};
  client.send(post("Content-Length: 4\r\nExpect: 100-continue\r\n", ""));
  CHECK(client.read_to("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  CHECK(client.read_answer().ends_with("POST /x? body"));
  client.send(post("Content-Length: 1001\r\nExpect: 100-continue\r\n", ""));
  CHECK(status_of(client.read_answer()) == "HTTP/1.1 413 Content Too Large");
}

TEST_CASE(
    "http_server: a body over the limit is refused by its length (case "
    "138)") {
  auto server = serve(small());
  raw_socket exact{server->port()};
  exact.send(post("Content-Length: 1000\r\n", std::string(1000, 'x')));
  CHECK(status_of(exact.read_answer()) == "HTTP/1.1 200 OK");

  raw_socket client{server->port()};
  client.send(post("Content-Length: 1001\r\n", ""));  // nothing of the body
  auto answer = client.read_answer();
  CHECK(status_of(answer) == "HTTP/1.1 413 Content Too Large");
  CHECK(answer.find("\"code\":\"INVALID_INPUT\"") != std::string::npos);
  CHECK(answer.find("\"requestId\":\"req_") != std::string::npos);
  CHECK(answer.find("connection: close\r\n") != std::string::npos);
  CHECK(client.at_end());
}

TEST_CASE("http_server: a client that sends on regardless still gets its 413") {
  auto server = serve(small());
  auto answer = ask(*server, "POST", "/x", std::string(400'000, 'x'));
  CHECK(answer.status == 413);
}

TEST_CASE(
    "http_server: a chunked body over the limit is refused when it "
    "passes it (case 138)") {
  auto server = serve(small());
  raw_socket client{server->port()};
  std::string chunk = "1f4\r\n" + std::string(500, 'x') + "\r\n";
  client.send(
      post("Transfer-Encoding: chunked\r\n", chunk + chunk + "0\r\n\r\n"));
  CHECK(status_of(client.read_answer()) == "HTTP/1.1 200 OK");
  client.send(post("Transfer-Encoding: chunked\r\n", chunk + chunk + "1\r\n"));
  CHECK(status_of(client.read_answer()) == "HTTP/1.1 413 Content Too Large");
  CHECK(client.at_end());
}

TEST_CASE(
    "http_server: an ambiguous or malformed message is refused and the "
    "connection ends (case 138)") {
  auto server = serve(small());
  auto text = GENERATE(values<std::string>({
      post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "abc"),
      post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"),
      post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"),
      post("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"),
      post("Content-Length: +5\r\n", "abcde"),
      post("Content-Length: 5, 5\r\n", "abcde"),
      post("Content-Length: 99999999999999999999\r\n", ""),
      post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
      post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
      post("Transfer-Encoding: identity\r\n", "abc"),
      post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", ""),
      post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
      post("Transfer-Encoding: chunked\r\n", "0x10\r\nabc\r\n\r\n"),
      post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFF\r\n"),
      post("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n0\r\n\r\n"),
      std::string{"POST /x HTTP/1.1\nHost: h\nContent-Length: 3\n\nabc"},
      std::string{"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
                  "\r\n"},
      std::string{"GET x HTTP/1.1\r\nHost: h\r\n\r\n"},
      std::string{"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n"},
      std::string{"GET / HTTP/2.0\r\n\r\n"},
      std::string{"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n"},
      std::string{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello", 16},
      std::string{"\r\n\r\n\r\n\r\n"},
  }));
  CAPTURE(text);
  raw_socket client{server->port()};
  client.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n" + text);
  CHECK(client.read_answer().ends_with("GET /first? "));
  CHECK(status_of(client.read_answer()) == "HTTP/1.1 400 Bad Request");
  CHECK(client.at_end());
  CHECK(ask(*server, "GET", "/after").status == 200);
}

TEST_CASE("http_server: a trailer does not pass for a header") {
  auto server = serve({}, [](http_request request, respond done) {
    http_response out;
    out.body = request.headers.contains("authorization") ? "yes" : "no";
    done(std::move(out));
  });
  raw_socket client{server->port()};
  client.send(post("Transfer-Encoding: chunked\r\n",
                   "1\r\na\r\n0\r\nAuthorization: Bearer x\r\n\r\n"));
  CHECK(client.read_answer().ends_with("no"));
}

TEST_CASE("http_server: a header over 16 KiB is 431") {
  auto server = serve({});
  raw_socket client{server->port()};
  client.send("GET / HTTP/1.1\r\nA: " + std::string(20'000, 'x'));
  CHECK(status_of(client.read_answer()) ==
        "HTTP/1.1 431 Request Header Fields Too Large");
  CHECK(client.at_end());
}

TEST_CASE("http_server: other methods are 405 and say which are served") {
  auto server = serve({});
  auto method = GENERATE(as<std::string>{}, "PUT", "DELETE", "OPTIONS", "PATCH",
                         "TRACE", "BREW");
  raw_socket client{server->port()};
  client.send(method + " / HTTP/1.1\r\nHost: h\r\n\r\n");
  auto answer = client.read_answer();
  CHECK(status_of(answer) == "HTTP/1.1 405 Method Not Allowed");
  CHECK(answer.find("allow: GET, HEAD, POST\r\n") != std::string::npos);
}

TEST_CASE("http_server: a 405 names what the path is served for") {
  server_options options;
  options.allow = [](std::string_view path) {
    return std::string{path == "/known" ? "GET, HEAD" : ""};
  };
  auto server = serve(std::move(options));
  auto ask = [&](const std::string& line) {
    raw_socket client{server->port()};
    client.send(line + " HTTP/1.1\r\nHost: h\r\n\r\n");
    return client.read_answer();
  };
  for (const std::string target : {"/known", "/known?a=b"}) {
    auto answer = ask("DELETE " + target);
    CHECK(status_of(answer) == "HTTP/1.1 405 Method Not Allowed");
    CHECK(answer.find("allow: GET, HEAD\r\n") != std::string::npos);
    CHECK(answer.find("served for GET, HEAD only") != std::string::npos);
  }
  for (const std::string target : {"/other", "*", "h:443"}) {
    auto answer = ask("OPTIONS " + target);
    CHECK(status_of(answer) == "HTTP/1.1 404 Not Found");
    CHECK(answer.find("NOT_FOUND") != std::string::npos);
  }
}

TEST_CASE(
    "http_server: a slow client is cut off however it drips (case "
    "139)") {
  server_options options;
  options.read_timeout = milliseconds{200};
  auto server = serve(options);
  auto part =
      GENERATE(as<std::string>{}, "", "GET / HTTP/1.1\r\nHos",
               "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n");
  raw_socket client{server->port()};
  client.send(part);
  if (!part.empty()) {
    // A byte now and then must not prolong it: this ends because it is cut.
    while (client.send("x"))
      std::this_thread::sleep_for(milliseconds{20});
  }
  CHECK(client.is_over());
}

TEST_CASE("http_server: an idle connection is closed, a busy one is not") {
  server_options options;
  options.read_timeout = milliseconds{100};
  holding_handler held;
  auto server = serve(options, held.handler());
  raw_socket client{server->port()};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  auto done = held.take();
  std::this_thread::sleep_for(milliseconds{250});
  done({});
  CHECK(status_of(client.read_answer()) == "HTTP/1.1 200 OK");
  CHECK(client.at_end());
}

TEST_CASE("http_server: a handler that never answers is answered for") {
  server_options options;
  options.answer_timeout = milliseconds{100};
  holding_handler held;
  auto server = serve(options, held.handler());
  raw_socket client{server->port()};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  auto answer = client.read_answer();
  CHECK(status_of(answer) == "HTTP/1.1 503 Service Unavailable");
  CHECK(answer.find("\"code\":\"UNAVAILABLE\"") != std::string::npos);
  CHECK(client.at_end());
  held.take()({});  // too late, and harmless
}

TEST_CASE("http_server: only the first answer counts, from any thread") {
  holding_handler held;
  auto server = serve({}, held.handler());
  raw_socket client{server->port()};
  for (int i = 0; i < 3; ++i) {
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    auto done = held.take();
    std::thread other{[done] {
      http_response first;
      first.body = "first";
      done(first);
      http_response second;
      second.body = "second";
      done(second);
    }};
    other.join();
    CHECK(client.read_answer().ends_with("first"));
  }
}

TEST_CASE("http_server: connections beyond the limit are closed") {
  server_options options;
  options.max_connections = 1;
  auto server = serve(options);
  raw_socket first{server->port()};
  first.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(first.read_answer().ends_with("GET /a? "));
  raw_socket second{server->port()};
  CHECK(second.is_over());
  first.send("GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(first.read_answer().ends_with("GET /b? "));
}

TEST_CASE("http_server: out of descriptors it waits and goes on") {
  auto server = serve({});
  raw_socket client;
  int next = ::dup(client.fd());
  REQUIRE(next >= 0);
  ::close(next);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  client.connect(server->port());
  client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  timeval shortly{0, 150'000};
  ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVTIMEO, &shortly, sizeof shortly);
  auto early = client.read_answer();
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(early.empty());
  timeval long_enough{20, 0};
  ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVTIMEO, &long_enough,
               sizeof long_enough);
  CHECK(client.read_answer().ends_with("GET /a? "));
}

TEST_CASE("http_server: a port in use is UNAVAILABLE by name") {
  auto first = serve({});
  server_options options;
  options.port = first->port();
  auto second = http_server::start(options, echo);
  REQUIRE(!second);
  CHECK(second.error().code == errc::unavailable);
  CHECK(second.error().message ==
        "cannot listen on 127.0.0.1:" + std::to_string(first->port()) +
            ": address already in use");
}

TEST_CASE("http_server: an address that is none is INVALID_CONFIG") {
  server_options options;
  options.address = "localhost";
  auto server = http_server::start(options, echo);
  REQUIRE(!server);
  CHECK(server.error().code == errc::invalid_config);
}

TEST_CASE(
    "http_server: stop lets an answer in flight be written and closes "
    "what is idle") {
  holding_handler held;
  server_options options;
  options.io_threads = 2;
  auto server = serve(options, held.handler());
  auto port = server->port();
  raw_socket busy{port};
  raw_socket idle{port};
  busy.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  auto done = held.take();
  std::thread stopper{[&] { server->stop(seconds{20}); }};
  CHECK(idle.is_over());
  http_response out;
  out.body = "late";
  done(out);
  auto answer = busy.read_answer();
  CHECK(answer.ends_with("late"));
  CHECK(answer.find("connection: close\r\n") != std::string::npos);
  CHECK(busy.at_end());
  ::shutdown(busy.fd(), SHUT_RDWR);
  stopper.join();
  client_options gone;
  gone.url = "http://127.0.0.1:" + std::to_string(port);
  CHECK(!send_request(gone, "GET", "/", {}, ""));
  server->stop(seconds{1});  // again: nothing
}

TEST_CASE("http_server: an answer after the server is gone does nothing") {
  holding_handler held;
  auto server = serve({}, held.handler());
  raw_socket client{server->port()};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  auto done = held.take();
  server->stop(seconds{0});
  CHECK(client.is_over());
  server.reset();
  done({});
}

TEST_CASE("http_server: many clients at once on two threads") {
  server_options options;
  options.io_threads = 2;
  auto server = serve(options);
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] {
      client_options to;
      to.url = url_of(*server);
      for (int k = 0; k < 10; ++k) {
        auto answer = send_request(to, "POST", "/x", {}, "b");
        if (answer && answer.value().body == "POST /x? b")
          ++good;
      }
    });
  for (auto& client : clients)
    client.join();
  CHECK(good == 80);
}
