// spec: DESIGN section 6, events without Kafka; WHATWG HTML 9.2.

#include "gateway/event_stream.hpp"

#include "fake_events.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

// Long enough that nothing happens by itself within a test.
constexpr milliseconds never{3'600'000};

event_feed_options quiet() {
  event_feed_options o;
  o.poll = never;
  o.heartbeat = never;
  o.pause = milliseconds{1};
  o.after_failure = milliseconds{1};
  return o;
}

struct world {
  explicit world(event_feed_options o = quiet()) : feed(event_feed::start(o)) {}
  ~world() { feed->stop(); }

  http_response ask(const std::string& query = {},
                    std::map<std::string, std::string> headers = {}) {
    http_request request;
    request.method = "GET";
    request.query = query;
    request.headers = std::move(headers);
    request.headers.emplace("authorization", "Bearer bck_1.secret");
    std::optional<http_response> got;
    feed->open(api, request, "req_1", [&](http_response r) {
      REQUIRE(!got);
      got = std::move(r);
    });
    REQUIRE(got);
    return std::move(*got);
  }

  std::shared_ptr<fake_stream> open(
      const std::string& query = {},
      std::map<std::string, std::string> headers = {}) {
    auto answer = ask(query, std::move(headers));
    REQUIRE(answer.status == 200);
    REQUIRE(answer.stream);
    auto out = std::make_shared<fake_stream>();
    CHECK(out->write(answer.body));
    answer.stream(out);
    return out;
  }

  void wait_for_streams(std::size_t n) {
    for (int i = 0; i < 2'000 && feed->open_streams() != n; ++i)
      std::this_thread::sleep_for(milliseconds{10});
    REQUIRE(feed->open_streams() == n);
  }

  fake_events api;
  std::shared_ptr<event_feed> feed;
};

std::string frame(std::size_t n, const std::string& data = "{}") {
  auto id = "inc_1-" + std::to_string(n);
  return "id: " + id + "\nevent: node.joined\ndata: {\"id\":\"" + id +
         R"(","type":"node.joined","data":)" + data + "}\n\n";
}

}  // namespace

TEST_CASE("event stream: stored events come first, then each as it is told") {
  world w;
  w.api.add(R"({"a":"x\ny"})");
  w.api.add();
  auto answer = w.ask();
  CHECK(answer.content_type == "text/event-stream");
  CHECK(answer.body ==
        "retry: 1000\n\n" + frame(1, R"({"a":"x\ny"})") + frame(2));
  auto out = w.open();
  w.api.add();
  w.feed->wake();
  out->wait_for(frame(3));
  w.api.add();
  w.feed->wake();
  out->wait_for(frame(3) + frame(4));
  CHECK(w.api.calls().back().authorization == "Bearer bck_1.secret");
}

TEST_CASE("event stream: an idle stream looks by itself, told or not") {
  auto o = quiet();
  o.poll = milliseconds{5};
  world w{o};
  auto out = w.open();
  w.api.add();
  out->wait_for(frame(1));
}

TEST_CASE("event stream: more than a page is sent without being told") {
  auto o = quiet();
  o.pause = never;
  world w{o};
  for (int i = 0; i < 450; ++i)
    w.api.add();
  auto out = w.open();
  out->wait_for(frame(450));
  auto text = out->text();
  for (int i = 2; i <= 450; ++i)
    REQUIRE(text.find(frame(i - 1) + frame(i)) != std::string::npos);
}

TEST_CASE("event stream: beyond many events of others it looks on at once") {
  auto o = quiet();
  o.pause = never;
  world w{o};
  w.api.add_others(2 * actors::max_events_scanned + 5);
  w.api.add();
  w.open()->wait_for(frame(2 * actors::max_events_scanned + 6));
  CHECK(w.api.calls().size() == 3);
}

TEST_CASE("event stream: while others commit it looks once in each pause") {
  auto o = quiet();
  o.pause = milliseconds{50};
  world w{o};
  w.api.let_others_commit();
  const auto begun = std::chrono::steady_clock::now();
  auto out = w.open("cursor=head");
  // Woken all the time, and the cursor moves each time.
  std::size_t looks = 0;
  while (looks < 5) {
    w.feed->wake();
    std::this_thread::sleep_for(milliseconds{1});
    looks = w.api.calls().size();
  }
  auto pauses = (std::chrono::steady_clock::now() - begun) / o.pause;
  CHECK(looks <= static_cast<std::size_t>(pauses) + 1);
}

TEST_CASE("event stream: Last-Event-ID resumes and wins over ?cursor=") {
  world w;
  for (int i = 0; i < 4; ++i)
    w.api.add();
  CHECK(w.ask("cursor=inc_1-3").body == "retry: 1000\n\n" + frame(4));
  CHECK(w.ask("cursor=inc_1-1", {{"last-event-id", "inc_1-2"}}).body ==
        "retry: 1000\n\n" + frame(3) + frame(4));
  CHECK(w.ask("cursor=head").body == "retry: 1000\n\n");
  // No client sends it empty on purpose.
  CHECK(w.ask("cursor=inc_1-3", {{"last-event-id", ""}}).body ==
        "retry: 1000\n\n" + frame(4));
}

TEST_CASE("event stream: what could be no JSON text is refused") {
  world w;
  auto query = GENERATE("type=a%20b", "cursor=%80", "tenantId=ten%00", "type=");
  CHECK(w.ask(query).status == 400);
  CHECK(w.ask("", {{"last-event-id", "inc_1-1\xff"}}).status == 400);
  CHECK(w.api.calls().empty());
}

TEST_CASE("event stream: the filter and the tenant go to events.list") {
  world w;
  w.open("type=node%2Ejoined&tenantId=ten_1");
  auto call = w.api.calls().front();
  CHECK(call.group == "events");
  CHECK(call.method == "list");
  CHECK(call.request_id == "req_1");
  CHECK(call.body ==
        R"({"tenantId":"ten_1","type":"node.joined","limit":200})");
}

TEST_CASE("event stream: a query that is not understood is INVALID_INPUT") {
  world w;
  for (const auto* query :
       {"x=1", "type=a&type=b", "cursor=%zz", "cursor=%4", "type=", "type", "&",
        "Type=a", "type=a&&cursor=1"}) {
    INFO(query);
    auto answer = w.ask(query);
    CHECK(answer.status == 400);
    CHECK(answer.body.find("INVALID_INPUT") != std::string::npos);
    CHECK(!answer.stream);
  }
  CHECK(w.api.calls().empty());
}

TEST_CASE("event stream: what the API refuses is answered before any stream") {
  world w;
  for (int status : {400, 401, 403, 404, 503}) {
    w.api.answer_with(status);
    auto answer = w.ask();
    CHECK(answer.status == status);
    CHECK(answer.content_type == "application/json");
    CHECK(answer.body == R"({"error":{"code":"X"}})");
    CHECK(!answer.stream);
  }
  CHECK(w.feed->open_streams() == 0);
}

TEST_CASE("event stream: a credential that is revoked ends its stream") {
  auto o = quiet();
  o.poll = milliseconds{5};
  world w{o};
  auto out = w.open();
  w.api.answer_with(401);
  out->wait_for_end();
  w.wait_for_streams(0);
}

TEST_CASE("event stream: an idle stream beats, with the point to resume from") {
  auto o = quiet();
  o.poll = milliseconds{5};
  o.heartbeat = milliseconds{5};
  world w{o};
  auto out = w.open("cursor=head");
  out->wait_for(":\nid: inc_1-0\n\n");
}

TEST_CASE("event stream: a client that left is forgotten") {
  auto o = quiet();
  o.poll = milliseconds{5};
  world w{o};
  auto out = w.open();
  CHECK(w.feed->open_streams() == 1);
  out->leave();
  w.wait_for_streams(0);
}

TEST_CASE(
    "event stream: a stream that was answered and never begun counts no "
    "more") {
  world w;
  CHECK(w.ask().stream);
  CHECK(w.feed->open_streams() == 0);
}

TEST_CASE("event stream: streams are bounded, of all and of one credential") {
  auto o = quiet();
  o.max_streams = 3;
  o.max_streams_per_credential = 2;
  world w{o};
  auto a = w.open();
  auto b = w.open();
  auto refused = w.ask();
  CHECK(refused.status == 429);
  CHECK(refused.body.find("RATE_LIMITED") != std::string::npos);
  CHECK(refused.body.find("req_1") != std::string::npos);
  auto other = std::map<std::string, std::string>{
      {"authorization", "Bearer bck_2.secret"}};
  auto c = w.open("", other);
  CHECK(w.ask("", other).status == 429);
  a->leave();
  w.feed->wake();
  w.wait_for_streams(2);
  CHECK(w.ask("", other).status == 200);
}

TEST_CASE("event stream: a failure of ours passes, one that lasts ends it") {
  auto o = quiet();
  o.poll = milliseconds{5};
  o.max_failures = 20;
  world w{o};
  auto out = w.open();
  w.api.answer_with(503);
  auto before = w.api.calls().size();
  while (w.api.calls().size() < before + 3)
    std::this_thread::sleep_for(milliseconds{1});
  w.api.answer_with(200);
  w.api.add();
  out->wait_for(frame(1));
  w.api.answer_with(500);
  out->wait_for_end();
  w.wait_for_streams(0);
}

TEST_CASE("event stream: a slow client is given no more than it takes") {
  auto o = quiet();
  o.poll = milliseconds{1};
  world w{o};
  auto out = w.open();
  out->hold(10'000'000);
  // The page that was asked for before may still come.
  std::this_thread::sleep_for(milliseconds{50});
  auto before = w.api.calls().size();
  w.api.add();
  w.feed->wake();
  std::this_thread::sleep_for(milliseconds{50});
  CHECK(w.api.calls().size() <= before + 1);
  out->hold(0);
  out->wait_for(frame(1));
}

TEST_CASE("event stream: a page of long events is sent in pieces, each once") {
  auto o = quiet();
  o.pause = never;
  world w{o};
  auto data = "\"" + std::string(50'000, 'x') + "\"";
  for (int i = 0; i < 30; ++i)
    w.api.add(data);
  auto answer = w.ask();
  CHECK(answer.body.size() < 400'000);
  auto out = w.open();
  out->wait_for(frame(30, data));
  auto text = out->text();
  for (int i = 2; i <= 30; ++i)
    CHECK(text.find(frame(i - 1, data) + frame(i, data)) != std::string::npos);
}

TEST_CASE("event stream: stop ends every stream and asks nobody any more") {
  auto o = quiet();
  o.poll = milliseconds{1};
  world w{o};
  auto a = w.open();
  auto b = w.open();
  w.feed->stop();
  a->wait_for_end();
  b->wait_for_end();
  auto asked = w.api.calls().size();
  w.feed->wake();
  std::this_thread::sleep_for(milliseconds{20});
  CHECK(w.api.calls().size() == asked);
  // Nobody is asked for one that opens now.
  auto late = w.ask();
  CHECK(late.status == 503);
  CHECK(late.body.find("\"code\":\"UNAVAILABLE\"") != std::string::npos);
  CHECK(late.body.find("req_1") != std::string::npos);
  CHECK(!late.stream);
  CHECK(w.api.calls().size() == asked);
  w.feed->stop();
}

TEST_CASE("event stream: a first page that comes after stop begins no stream") {
  struct : actors::api_port {
    std::function<void(actors::api_reply)> held;
    void call(actors::api_call,
              std::function<void(actors::api_reply)> done) override {
      held = std::move(done);
    }
  } api;
  auto feed = event_feed::start(quiet());
  std::optional<http_response> got;
  feed->open(api, {}, "req_1", [&](http_response r) { got = std::move(r); });
  feed->stop();
  REQUIRE_FALSE(got);
  api.held({200, R"({"items":[],"cursor":"inc_1-0"})"});
  REQUIRE(got);
  CHECK(got->status == 503);
  CHECK(!got->stream);
}

TEST_CASE("event stream: many wakes and many streams lose no event") {
  world w;
  std::vector<std::shared_ptr<fake_stream>> clients;
  for (int i = 0; i < 8; ++i)
    clients.push_back(w.open());
  std::thread other{[&] {
    for (int i = 0; i < 300; ++i) {
      w.api.add();
      w.feed->wake();
    }
  }};
  for (auto& c : clients)
    c->wait_for(frame(300));
  other.join();
  for (auto& c : clients) {
    auto text = c->text();
    for (int i = 2; i <= 300; ++i)
      REQUIRE(text.find(frame(i - 1) + frame(i)) != std::string::npos);
  }
}
