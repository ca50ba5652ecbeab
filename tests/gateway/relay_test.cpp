// The relay between a gateway and API processes: DESIGN sections 7 and 9.
#include "gateway/relay_codec.hpp"
#include "relay_support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

TEST_CASE("relay: request and answer pass byte for byte") {
  relay_world w;
  held_joins joins;
  auto api = w.listen(joins);
  auto relay = w.connect(w.options({api->port()}));
  std::string all_bytes;
  for (int i = 0; i < 256; ++i)
    all_bytes += static_cast<char>(i);
  auto reply = send(*relay, {all_bytes, "req_1", all_bytes + "cert"});
  auto got = joins.take();
  CHECK(got.call.body == all_bytes);
  CHECK(got.call.correlation == "req_1");
  CHECK(got.call.client_certificate == all_bytes + "cert");
  got.done({202, all_bytes + all_bytes});
  auto back = get(reply);
  CHECK(back.status == 202);
  CHECK(back.body == all_bytes + all_bytes);
}

TEST_CASE("relay: each kind of request passes as what it is") {
  using actors::daemon_request;
  relay_world w;
  held_joins joins;
  auto api = w.listen(joins);
  auto relay = w.connect(w.options({api->port()}));
  for (std::uint8_t number = 1; actors::daemon_request_of(number); ++number) {
    const auto what = *actors::daemon_request_of(number);
    CHECK(static_cast<std::uint8_t>(what) == number);
    auto reply = send(*relay, {"body", "req_1", "", what});
    auto got = joins.take();
    CHECK(got.call.what == what);
    got.done({200, "x"});
    CHECK(get(reply).status == 200);
  }
  CHECK(static_cast<std::uint8_t>(daemon_request::renew) ==
        gateway::relay::kind_renew);
  CHECK_FALSE(actors::daemon_request_of(0));
  CHECK_FALSE(actors::daemon_request_of(99));
}

TEST_CASE("relay: without an API process joins are UNAVAILABLE at once") {
  relay_world w;
  std::uint16_t port = 0;  // nobody listens on it
  {
    echo_joins joins;
    port = w.listen(joins)->port();
  }
  auto relay = relay_client::start(w.options({port}));
  REQUIRE(relay);
  CHECK_FALSE(relay.value()->has_healthy_api());
  auto reply = ask(*relay.value(), {"body", "req_9", ""});
  CHECK(is_unavailable(reply));
  CHECK(reply.body.find("\"requestId\":\"req_9\"") != std::string::npos);
}

TEST_CASE("relay: held answers hold up no other") {
  relay_world w;
  held_joins joins;
  auto api = w.listen(joins);
  auto relay = w.connect(w.options({api->port()}));
  std::vector<pending_reply> held;
  for (int i = 0; i < 500; ++i)
    held.push_back(send(*relay, {std::to_string(i), "", ""}));
  REQUIRE(comes_true([&] { return joins.size() == 500; }));
  std::vector<held_joins::held> kept;
  for (int i = 0; i < 500; ++i)
    kept.push_back(joins.take());
  auto fast = send(*relay, {"fast", "", ""});
  joins.take().done({200, "fast"});
  CHECK(get(fast).body == "fast");
  // The last asked is the first answered, each with its own.
  for (auto one = kept.rbegin(); one != kept.rend(); ++one)
    one->done({403, one->call.body});
  for (int i = 0; i < 500; ++i)
    CHECK(get(held[static_cast<std::size_t>(i)]).body == std::to_string(i));
}

TEST_CASE("relay: requests go to the API process with the fewest") {
  relay_world w;
  held_joins a;
  held_joins b;
  auto one = w.listen(a);
  auto two = w.listen(b);
  auto relay = w.connect(w.options({one->port(), two->port()}));
  std::vector<pending_reply> all;
  for (int i = 0; i < 10; ++i)
    all.push_back(send(*relay, {std::to_string(i), "", ""}));
  CHECK(comes_true([&] { return a.size() == 5 && b.size() == 5; }));
  for (int i = 0; i < 5; ++i) {
    auto one_of_a = a.take();
    one_of_a.done({200, ""});
    (void)get(all[std::stoul(one_of_a.call.body)]);
  }
  for (int i = 0; i < 5; ++i)
    all.push_back(send(*relay, {"more", "", ""}));
  CHECK(comes_true([&] { return a.size() == 5 && b.size() == 5; }));
  relay->stop(seconds{0});
  for (auto& reply : all)
    if (reply.valid())
      CHECK(is_unavailable(get(reply)));
}

TEST_CASE("relay: an API process that dies mid-flight: another answers, once") {
  relay_world w;
  held_joins a;
  held_joins b;
  auto one = w.listen(a);
  auto two = w.listen(b);
  auto relay = w.connect(w.options({one->port(), two->port()}));
  auto reply = send(*relay, {"the same CSR", "req_1", "cert"});
  REQUIRE(comes_true([&] { return a.size() + b.size() == 1; }));
  bool at_a = a.size() == 1;
  auto& dying = at_a ? a : b;
  auto& other = at_a ? b : a;
  auto first = dying.take();
  (at_a ? one : two)->stop(seconds{0});
  auto second = other.take();
  CHECK(second.call.body == first.call.body);
  CHECK(second.call.correlation == first.call.correlation);
  CHECK(second.call.client_certificate == first.call.client_certificate);
  first.done({200, "too late"});
  second.done({200, "stored answer"});
  CHECK(get(reply).body == "stored answer");
  CHECK(relay->healthy_apis() == 1);
}

TEST_CASE("relay: it is sent to a second API process and to no third") {
  relay_world w;
  held_joins a;
  auto one = w.listen(a);
  auto two = w.listen(a);
  auto three = w.listen(a);
  auto relay = w.connect(w.options({one->port(), two->port(), three->port()}));
  auto reply = send(*relay, {"x", "req_1", ""});
  auto first = a.take();
  // Whoever has it: all but one die, twice.
  one->stop(seconds{0});
  two->stop(seconds{0});
  three->stop(seconds{0});
  auto last = get(reply);
  CHECK(is_unavailable(last));
  CHECK(a.size() <= 1);
}

TEST_CASE(
    "relay: the only API process dies: UNAVAILABLE, and again when back") {
  relay_world w;
  held_joins joins;
  auto api = w.listen(joins);
  auto port = api->port();
  auto relay = w.connect(w.options({port}));
  auto reply = send(*relay, {"x", "req_1", ""});
  auto lost = joins.take();
  api->stop(seconds{0});
  CHECK(is_unavailable(get(reply)));
  CHECK(comes_true([&] { return !relay->has_healthy_api(); }));
  api.reset();
  lost.done({200, "nobody waits"});
  relay_listener_options again;
  again.port = port;
  echo_joins back;
  api = w.listen(back, again);
  CHECK(comes_true([&] { return relay->has_healthy_api(); }));
  CHECK(ask(*relay, {"y", "", ""}).body == "echo y");
}

TEST_CASE("relay: a stopping API process answers what it has, gets no more") {
  relay_world w;
  held_joins a;
  echo_joins b;
  auto one = w.listen(a);
  auto alone = w.connect(w.options({one->port()}));
  auto reply = send(*alone, {"x", "", ""});
  auto held = a.take();
  auto two = w.listen(b);
  auto both = w.connect(w.options({one->port(), two->port()}));
  std::thread stopper{[&] { one->stop(seconds{20}); }};
  CHECK(comes_true([&] { return both->healthy_apis() == 1; }));
  for (int i = 0; i < 10; ++i)
    CHECK(ask(*both, {"y", "", ""}).body == "echo y");
  held.done({200, "in time"});
  CHECK(get(reply).body == "in time");
  stopper.join();
  CHECK(a.size() == 0);
}

// Client addresses hide behind NAT and relays: a gateway has a bound of its own
// (ATTESTATION section 1.1).
TEST_CASE("relay: challenges of one gateway are limited, and nothing else is") {
  relay_world w;
  echo_joins joins;
  auto api = w.listen(joins);
  auto relay = w.connect(w.options({api->port()}));
  auto other = w.connect(w.options({api->port()}));
  auto challenge = [](gateway::relay_client& from) {
    return ask(from, {"c", "", "", actors::daemon_request::join_challenge});
  };
  // A thousand at once, and some more that come meanwhile.
  constexpr int count = 3'000;
  std::vector<pending_reply> all;
  all.reserve(count);
  for (int i = 0; i < count; ++i)
    all.push_back(
        send(*relay, {"c", "", "", actors::daemon_request::join_challenge}));
  int given = 0;
  for (auto& one : all) {
    const auto reply = get(one);
    if (reply.status == 200) {
      ++given;
      continue;
    }
    REQUIRE(reply.status == 429);
    CHECK(reply.body.find("RATE_LIMITED") != std::string::npos);
  }
  CHECK(given >= 1'000);
  CHECK(given < count);
  CHECK(ask(*relay, {"j", "", ""}).status == 200);
  CHECK(challenge(*other).status == 200);
}

TEST_CASE("relay: over a bound the answer is UNAVAILABLE at once") {
  relay_world w;
  held_joins joins;
  relay_listener_options at_api;
  relay_client_options at_gateway;
  SECTION("of the gateway") {
    auto api = w.listen(joins);
    auto o = w.options({api->port()});
    o.max_in_flight = 2;
    auto relay = w.connect(o);
    auto first = send(*relay, {"1", "", ""});
    auto second = send(*relay, {"2", "", ""});
    CHECK(is_unavailable(ask(*relay, {"3", "", ""})));
    joins.take().done({200, "done"});
    joins.take().done({200, "done"});
    CHECK(get(first).body == "done");
    CHECK(get(second).body == "done");
    auto again = send(*relay, {"4", "", ""});
    joins.take().done({200, "again"});
    CHECK(get(again).body == "again");
  }
  SECTION("of the API process") {
    at_api.max_in_flight = 2;
    auto api = w.listen(joins, at_api);
    auto relay = w.connect(w.options({api->port()}));
    auto first = send(*relay, {"1", "", ""});
    auto second = send(*relay, {"2", "", ""});
    REQUIRE(comes_true([&] { return joins.size() == 2; }));
    CHECK(is_unavailable(ask(*relay, {"3", "", ""})));
    joins.take().done({200, "done"});
    joins.take().done({200, "done"});
    CHECK(get(first).body == "done");
    CHECK(get(second).body == "done");
  }
  SECTION("of the queue") {
    auto api = w.listen(joins);
    auto o = w.options({api->port()});
    o.max_queued_bytes = 1000;
    auto relay = w.connect(o);
    CHECK(is_unavailable(ask(*relay, {std::string(2000, 'x'), "", ""})));
  }
  SECTION("of a message") {
    auto api = w.listen(joins);
    auto relay = w.connect(w.options({api->port()}));
    CHECK(ask(*relay, {std::string(relay::max_request_body + 1, 'x'), "", ""})
              .status == 413);
    auto longest =
        send(*relay, {std::string(relay::max_request_body, 'x'), "", ""});
    joins.take().done({200, std::string(256 * 1024, 'y')});
    CHECK(get(longest).body.size() == 256 * 1024);
    auto huge = send(*relay, {"x", "", ""});
    joins.take().done({200, std::string(256 * 1024 + 1, 'y')});
    CHECK(get(huge).status == 500);
  }
}

TEST_CASE(
    "relay: a slow API process is answered for, its late answer dropped") {
  relay_world w;
  held_joins joins;
  auto api = w.listen(joins);
  auto o = w.options({api->port()});
  o.request_timeout = seconds{2};
  auto relay = w.connect(o);
  auto reply = send(*relay, {"x", "", ""});
  auto slow = joins.take();
  CHECK(is_unavailable(get(reply)));
  slow.done({200, "late"});
  // The connection is as good as before, and ids are not mixed up.
  auto next = send(*relay, {"y", "", ""});
  joins.take().done({200, "next"});
  CHECK(get(next).body == "next");
  CHECK(relay->has_healthy_api());
}

TEST_CASE("relay: stop answers what is in flight, and refuses what comes") {
  relay_world w;
  held_joins joins;
  auto api = w.listen(joins);
  auto relay = w.connect(w.options({api->port()}));
  auto reply = send(*relay, {"x", "", ""});
  auto held = joins.take();
  SECTION("in time") {
    std::thread stopper{[&] { relay->stop(seconds{20}); }};
    std::vector<pending_reply> before;  // what came before it stopped
    CHECK(comes_true([&] {
      auto more = send(*relay, {"y", "", ""});
      if (more.wait_for(seconds{0}) == std::future_status::ready)
        return is_unavailable(more.get());
      before.push_back(std::move(more));
      return false;
    }));
    held.done({200, "in time"});
    CHECK(get(reply).body == "in time");
    for (auto& one : before) {
      joins.take().done({200, "in time too"});
      CHECK(get(one).body == "in time too");
    }
    stopper.join();
  }
  SECTION("or UNAVAILABLE when the grace is over") {
    relay->stop(seconds{0});
    CHECK(is_unavailable(get(reply)));
    held.done({200, "late"});
  }
  CHECK(is_unavailable(ask(*relay, {"y", "", ""})));
  relay->stop(seconds{1});  // again: nothing
}

TEST_CASE("relay: stop comes to its end while others go on connecting") {
  relay_world w;
  echo_joins joins;
  relay_listener_options o;
  o.handshake_timeout = std::chrono::hours{1};
  o.io_threads = 2;
  for (int i = 0; i < 30; ++i) {
    auto api = w.listen(joins, o);
    std::vector<std::unique_ptr<raw_socket>> silent;
    for (int n = 0; n < 20; ++n)
      silent.push_back(std::make_unique<raw_socket>(api->port()));
    api->stop(seconds{0});
  }
}

TEST_CASE("relay: many at once from many threads, each gets its own") {
  relay_world w;
  echo_joins joins;
  relay_listener_options two_threads;
  two_threads.io_threads = 2;
  auto one = w.listen(joins, two_threads);
  auto two = w.listen(joins);
  auto relay = w.connect(w.options({one->port(), two->port()}));
  std::atomic<int> good{0};
  std::vector<std::thread> askers;
  for (int t = 0; t < 4; ++t)
    askers.emplace_back([&, t] {
      for (int i = 0; i < 250; ++i) {
        auto body = std::to_string(t) + "-" + std::to_string(i);
        auto reply = send(*relay, {body, "", ""});
        if (reply.wait_for(seconds{20}) == std::future_status::ready &&
            reply.get().body == "echo " + body)
          ++good;
      }
    });
  for (auto& asker : askers)
    asker.join();
  CHECK(good == 1000);
}

TEST_CASE("relay: an address is host:port") {
  CHECK(parse_api_address("api-1.internal:7443").value().host ==
        "api-1.internal");
  CHECK(parse_api_address("[2001:db8::1]:7443").value().host == "2001:db8::1");
  CHECK(parse_api_address("10.0.0.1:7443").value().port == 7443);
  for (const auto* bad :
       {"", "api", "api:", "api:0", "api:65536", ":1", "2001:db8::1",
        "[2001:db8::1]", "https://api:1", "api:1/", "a b:1"})
    CHECK_FALSE(parse_api_address(bad));
}
