// Answers without an end: chunked, bounded, ended by whoever goes first.
#include "gateway/stream_queue.hpp"
#include "support.hpp"
#include "tls_peer.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

constexpr std::string_view get_root = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

constexpr auto limit = stream_queue::limit;

/// Hands the streams it opened to the test.
class stream_opener {
 public:
  http_handler handler(std::string first = "first\n") {
    return [this, first](http_request, respond done) {
      http_response out;
      out.content_type = "text/event-stream";
      out.body = first;
      out.stream = [this](std::shared_ptr<response_stream> to) {
        std::lock_guard lock{mutex_};
        open_.push_back(std::move(to));
        changed_.notify_all();
      };
      done(std::move(out));
    };
  }

  std::shared_ptr<response_stream> take() {
    std::unique_lock lock{mutex_};
    REQUIRE(changed_.wait_for(lock, seconds{20},
                              [this] { return !open_.empty(); }));
    auto out = std::move(open_.back());
    open_.pop_back();
    return out;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<response_stream>> open_;
};

/// Writes until the stream is refused; true if it was in good time.
bool is_refused(response_stream& to, const std::string& text) {
  auto end = std::chrono::steady_clock::now() + seconds{20};
  while (to.write(text)) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(milliseconds{1});
  }
  return true;
}

std::string rest_of(raw_socket& client) {
  return client.read_to("never");
}

}  // namespace

TEST_CASE("streaming: head, body and what is written arrive as chunks") {
  stream_opener opened;
  auto server = serve({}, opened.handler());
  raw_socket client{server->port()};
  client.send(get_root);
  auto head = client.read_to("\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(head.find("content-type: text/event-stream\r\n") != head.npos);
  CHECK(head.find("transfer-encoding: chunked\r\n") != head.npos);
  CHECK(head.find("connection: close\r\n") != head.npos);
  CHECK(head.find("content-length") == head.npos);
  CHECK(client.read_to("first\n\r\n") == "6\r\nfirst\n\r\n");
  auto to = opened.take();
  CHECK(to->write("second\n"));
  CHECK(client.read_to("second\n\r\n") == "7\r\nsecond\n\r\n");
  to->end();
  CHECK(client.read_to("0\r\n\r\n") == "0\r\n\r\n");
  CHECK(client.at_end());
  CHECK_FALSE(to->write("late"));
}

TEST_CASE("streaming: HTTP/1.0 gets it without chunks, HEAD gets no stream") {
  stream_opener opened;
  auto server = serve({}, opened.handler());
  raw_socket old{server->port()};
  old.send("GET / HTTP/1.0\r\n\r\n");
  auto head = old.read_to("\r\n\r\n");
  CHECK(head.find("transfer-encoding") == head.npos);
  opened.take()->write("second\n");
  CHECK(rest_of(old) == "first\nsecond\n");
  raw_socket curious{server->port()};
  curious.send("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  CHECK(rest_of(curious).starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("streaming: it ends when its writer lets go") {
  stream_opener opened;
  auto server = serve({}, opened.handler(""));
  raw_socket client{server->port()};
  client.send(get_root);
  auto to = opened.take();
  CHECK(to->write("x"));
  to.reset();
  CHECK(rest_of(client).ends_with("\r\n\r\n1\r\nx\r\n0\r\n\r\n"));
}

TEST_CASE("streaming: over TLS, more than a record, from another thread") {
  tls_setup setup{{"127.0.0.1"}};
  stream_opener opened;
  server_options o;
  o.tls = setup.identity;
  auto server = serve(o, opened.handler(""));
  tls_peer client{server->port(), {}};
  client.send(get_root);
  auto to = opened.take();
  std::string part(50'000, 'x');
  std::atomic<int> written{0};
  std::thread writer{[&] {
    // At the client's pace.
    for (int i = 0; i < 40; ++i) {
      while (to->unsent().value_or(0) > limit / 2)
        std::this_thread::sleep_for(milliseconds{1});
      written += to->write(part) ? 1 : 0;
    }
    to->end();
  }};
  std::string all;
  while (!all.ends_with("\r\n0\r\n\r\n")) {
    auto more = client.read();
    REQUIRE_FALSE(more.empty());
    all += more;
  }
  writer.join();
  CHECK(written == 40);
  CHECK(std::count(all.begin(), all.end(), 'x') == 40 * 50'000 + 1);
}

TEST_CASE("streaming: a client that went is told to the writer") {
  stream_opener opened;
  auto server = serve({}, opened.handler());
  std::shared_ptr<response_stream> to;
  {
    raw_socket client{server->port()};
    client.send(get_root);
    to = opened.take();
    client.read_to("first\n");
  }
  CHECK(is_refused(*to, "x"));
}

TEST_CASE("streaming: a client that reads nothing is given up at 1 MiB") {
  stream_opener opened;
  auto server = serve({}, opened.handler());
  raw_socket client;
  int small = 4096;
  ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  client.connect(server->port());
  client.send(get_root);
  auto to = opened.take();
  std::string part(100'000, 'x');
  int written = 0;
  while (to->write(part))
    REQUIRE(++written < 200);  // 20 MB: the system's buffers are smaller
  CHECK(written >= 10);
  CHECK_FALSE(to->write("x"));
  // It is cut off: a gap must not look like the whole.
  CHECK(rest_of(client).find("0\r\n\r\n") == std::string::npos);
}

TEST_CASE("streaming: a client that stops reading is dropped in read_timeout") {
  stream_opener opened;
  server_options o;
  o.read_timeout = seconds{1};
  auto server = serve(o, opened.handler());
  raw_socket client;
  int small = 4096;
  ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  client.connect(server->port());
  client.send(get_root);
  auto to = opened.take();
  // Past the system's buffers, never past the bound. Again and again: on a busy
  // machine what seemed unsent may go into those buffers after all.
  auto stays_open = [&] {
    bool room = to->unsent().value_or(0) < limit / 2;
    return to->write(room ? std::string(limit / 10, 'x') : "");
  };
  auto end = std::chrono::steady_clock::now() + seconds{60};
  while (stays_open() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds{20});
  CHECK_FALSE(to->write(""));
}

TEST_CASE("streaming: a quiet stream stays open past every timeout") {
  stream_opener opened;
  server_options o;
  o.read_timeout = seconds{1};
  o.answer_timeout = seconds{1};
  bool tls = GENERATE(false, true);
  tls_setup setup{{"127.0.0.1"}};
  if (tls)
    o.tls = setup.identity;
  auto server = serve(o, opened.handler("a"));
  std::unique_ptr<raw_socket> plain;
  std::unique_ptr<tls_peer> secure;
  if (tls) {
    secure = std::make_unique<tls_peer>(server->port(), peer_options{});
    secure->send(get_root);
  } else {
    plain = std::make_unique<raw_socket>(server->port());
    plain->send(get_root);
  }
  auto to = opened.take();
  std::this_thread::sleep_for(milliseconds{2'500});
  CHECK(to->write("later"));
  to->end();
  auto all = tls ? secure->read_to_end() : rest_of(*plain);
  CHECK(all.ends_with("5\r\nlater\r\n0\r\n\r\n"));
}

TEST_CASE("streaming: the server's stop ends it in good order") {
  stream_opener opened;
  auto server = serve({}, opened.handler("a"));
  raw_socket client{server->port()};
  client.send(get_root);
  auto to = opened.take();
  std::thread stopper{[&] { server->stop(seconds{20}); }};
  CHECK(rest_of(client).ends_with("1\r\na\r\n0\r\n\r\n"));
  ::shutdown(client.fd(), SHUT_RDWR);
  stopper.join();
  CHECK_FALSE(to->write("x"));
  server.reset();
  CHECK_FALSE(to->write("x"));
}

TEST_CASE("streaming: a request sent into a stream is not served") {
  stream_opener opened;
  auto server = serve({}, opened.handler("a"));
  raw_socket client{server->port()};
  client.send(std::string{get_root} + std::string{get_root});
  auto to = opened.take();
  client.send(get_root);
  to->end();
  auto all = rest_of(client);
  CHECK(all.find("HTTP/1.1", 1) == all.npos);
}

TEST_CASE("stream_queue: what is being sent counts against the bound") {
  stream_queue q;
  std::string half(stream_queue::limit / 2, 'x');
  CHECK(q.push(half) == stream_queue::pushed::wake);
  CHECK(q.push(half) == stream_queue::pushed::waits);
  CHECK(q.take().text.size() == stream_queue::limit);
  CHECK(q.push("x") == stream_queue::pushed::refused);
  CHECK(q.take().cut);
  CHECK_FALSE(q.end());
}
