// The event stream over real connections, and the client that follows it.

#include "fake_events.hpp"
#include "gateway/routes.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

const std::string stream_path = "/api/compute/events/stream";

struct running {
  explicit running(event_feed_options o = {}) {
    api_extras extras;
    extras.events = feed = event_feed::start(o);
    server = serve({}, make_api_handler(api, {}, extras));
  }
  ~running() {
    server->stop(seconds{5});
    feed->stop();
  }

  result<client_response> follow(
      const std::function<bool(std::string_view)>& on_text,
      const std::string& path = stream_path, seconds timeout = seconds{20}) {
    client_options options;
    options.url = url_of(*server);
    options.timeout = timeout;
    return read_stream(options, path, {{"authorization", "Bearer bck_1.s"}},
                       on_text);
  }

  void wait_for_streams(std::size_t n) {
    for (int i = 0; i < 2'000 && feed->open_streams() != n; ++i)
      std::this_thread::sleep_for(milliseconds{10});
    REQUIRE(feed->open_streams() == n);
  }

  fake_events api;
  std::shared_ptr<event_feed> feed;
  std::unique_ptr<http_server> server;
};

}  // namespace

TEST_CASE("event stream: over a connection, as it is told") {
  running r;
  r.api.add(R"({"n":1})");
  std::string got;
  auto answer = r.follow([&](std::string_view text) {
    got += text;
    if (got.find(R"({"n":1})") != std::string::npos &&
        got.find(R"({"n":2})") == std::string::npos) {
      r.api.add(R"({"n":2})");
      r.feed->wake();
    }
    return got.find(R"({"n":2})") == std::string::npos;
  });
  REQUIRE(answer);
  CHECK(answer.value().status == 200);
  CHECK(got.starts_with("retry: 1000\n\nid: inc_1-1\nevent: node.joined\n"));
  CHECK(got.find("id: inc_1-2\n") != std::string::npos);
  r.wait_for_streams(0);
}

TEST_CASE("event stream: a client at its own pace gets every event once") {
  running r;
  const auto data = "\"" + std::string(20'000, 'x') + "\"";
  constexpr int count = 400;  // 8 MB, beyond what a stream may hold unsent
  for (int i = 0; i < count; ++i)
    r.api.add(data);
  std::string got;
  auto last = "id: inc_1-" + std::to_string(count) + "\n";
  auto answer = r.follow([&](std::string_view text) {
    got += text;
    if (got.size() % 7 == 0)
      std::this_thread::sleep_for(milliseconds{1});
    return got.find(last, got.size() > 40'000 ? got.size() - 40'000 : 0) ==
           std::string::npos;
  });
  REQUIRE(answer);
  for (int i = 1; i <= count; ++i) {
    auto id = "id: inc_1-" + std::to_string(i) + "\n";
    auto at = got.find(id);
    REQUIRE(at != std::string::npos);
    REQUIRE(got.find(id, at + 1) == std::string::npos);
  }
}

TEST_CASE("event stream: a refusal is an answer, not a stream") {
  running r;
  r.api.answer_with(401);
  bool called = false;
  auto answer = r.follow([&](std::string_view) { return called = true; });
  REQUIRE(answer);
  CHECK(answer.value().status == 401);
  CHECK(answer.value().body == R"({"error":{"code":"X"}})");
  CHECK(!called);
}

TEST_CASE("event stream: the server's stop ends it") {
  running r;
  std::thread stopper;
  auto answer = r.follow([&](std::string_view) {
    if (!stopper.joinable())
      stopper = std::thread{[&] { r.server->stop(seconds{5}); }};
    return true;
  });
  stopper.join();
  // In good order or by the connection's end: over it is.
  if (!answer)
    CHECK(answer.error().code == errc::unavailable);
  r.wait_for_streams(0);
}

TEST_CASE("event stream: the feed's stop is the answer's proper end") {
  running r;
  auto answer = r.follow([&](std::string_view) {
    r.feed->stop();
    return true;
  });
  REQUIRE(answer);
  CHECK(answer.value().status == 200);
}

TEST_CASE("http client: a stream that is silent too long is UNAVAILABLE") {
  auto o = event_feed_options{};
  o.heartbeat = milliseconds{3'600'000};
  running r{o};
  auto answer = r.follow([](std::string_view) { return true; },
                         stream_path + "?cursor=head", seconds{1});
  REQUIRE(!answer);
  CHECK(answer.error().code == errc::unavailable);
}

TEST_CASE("http client: an answer that is no stream is read like one") {
  auto server = serve({});
  client_options options;
  options.url = url_of(*server);
  std::string got;
  auto answer = read_stream(options, "/x?y", {}, [&](std::string_view text) {
    got += text;
    return true;
  });
  REQUIRE(answer);
  CHECK(got == "GET /x?y ");
  server->stop(seconds{5});
}
