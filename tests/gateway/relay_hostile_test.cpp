// Who may speak on the relay, and what a hostile peer can do with it.
#include "base/ids.hpp"
#include "fake_api.hpp"
#include "relay_support.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <future>
#include <map>
#include <memory>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

const std::string alpn = "\x0a" + std::string{relay::protocol};

/// Sends a ping and answers what came back, empty when it was cut off.
std::string ping_as(std::uint16_t port, const tls_identity* identity,
                    int max_version = TLS1_3_VERSION,
                    const std::string& protocol = alpn) {
  tls_peer peer{
      port,
      {.identity = identity, .max_version = max_version, .alpn = protocol}};
  peer.send(relay::encode(relay::ping{5}));
  return peer.read();
}

const std::string good_pong = relay::encode(relay::pong{5});

std::uint64_t id_of(const relay::message& m) {
  return std::get<relay::request>(m).id;
}

}  // namespace

TEST_CASE("relay_hostile: a gateway of this deployment alone is listened to") {
  relay_world w;
  echo_joins joins;
  auto api = w.listen(joins);
  using pki::internal_role;
  CHECK(ping_as(api->port(), w.gateway.get()) == good_pong);
  auto other = relay_world{};
  const auto& keys = *w.keys;
  std::map<std::string, std::shared_ptr<const tls_identity>> bad{
      {"another deployment's gateway", other.gateway},
      {"a node", make_node(keys.node_ca, w.now).tls},
      {"a node of the internal CA", make_node(keys.internal_ca, w.now).tls},
      {"an API process", w.internal(internal_role::api, w.now)},
      {"a server",
       identity_of(pki::issue_server_certificate(keys.serving_ca, {"gw"}, w.now)
                       .value())},
      {"the internal CA itself", identity_of(keys.internal_ca)},
      {"a gateway whose time is over",
       w.internal(internal_role::gateway, w.now - std::chrono::days{91})},
      {"a gateway of tomorrow",
       w.internal(internal_role::gateway, w.now + std::chrono::days{1})}};
  for (const auto& [who, identity] : bad) {
    CAPTURE(who);
    CHECK(ping_as(api->port(), identity.get()).empty());
  }
  CHECK(ping_as(api->port(), nullptr).empty());
  CHECK(ping_as(api->port(), w.gateway.get(), TLS1_2_VERSION).empty());
  CHECK(ping_as(api->port(), w.gateway.get(), TLS1_3_VERSION, "").empty());
  CHECK(ping_as(api->port(), w.gateway.get(), TLS1_3_VERSION, "\x08http/1.1")
            .empty());
  raw_socket garbage{api->port()};
  garbage.send(relay::encode(relay::ping{5}) + std::string(1000, 'x'));
  while (!garbage.is_over()) {
  }
  CHECK(joins.asked == 0);
  CHECK(ping_as(api->port(), w.gateway.get()) == good_pong);
}

TEST_CASE("relay_hostile: one host takes a share of the connections alone") {
  relay_world w;
  echo_joins joins;
  relay_listener_options o;
  o.max_connections_per_peer = 3;
  auto api = w.listen(joins, std::move(o));
  // Handshakes that do not begin.
  std::vector<std::unique_ptr<raw_socket>> idle;
  for (int i = 0; i < 3; ++i)
    idle.push_back(std::make_unique<raw_socket>(api->port()));
  CHECK(comes_true(
      [&] { return ping_as(api->port(), w.gateway.get()).empty(); }));
  // Its places come free when it goes.
  idle.clear();
  CHECK(comes_true(
      [&] { return ping_as(api->port(), w.gateway.get()) == good_pong; }));
}

TEST_CASE("relay_hostile: an API process of this deployment alone is asked") {
  relay_world w;
  echo_joins joins;
  auto good = w.listen(joins);
  using pki::internal_role;
  const auto& keys = *w.keys;
  auto other = relay_world{};
  std::vector<std::shared_ptr<const tls_identity>> bad{
      w.gateway,  // a gateway's certificate never serves
      other.internal(internal_role::api, w.now),
      w.internal(internal_role::api, w.now - std::chrono::days{91}),
      identity_of(
          pki::issue_server_certificate(keys.serving_ca, {"127.0.0.1"}, w.now)
              .value()),
      // For servers, by the right CA, and yet not an API process.
      identity_of(
          pki::issue_server_certificate(keys.internal_ca, {"127.0.0.1"}, w.now)
              .value())};
  for (const auto& identity : bad) {
    fake_api impostor{
        w, identity, with_pongs([](auto& link, const auto& m) {
          link.send(relay::encode(relay::answer{id_of(m), 200, "forged"}));
        })};
    auto relay =
        relay_client::start(w.options({impostor.port(), good->port()}));
    REQUIRE(relay);
    REQUIRE(comes_true([&] { return relay.value()->has_healthy_api(); }));
    for (int i = 0; i < 5; ++i)
      CHECK(ask(*relay.value(), {"x", "", ""}).body == "echo x");
    CHECK(relay.value()->healthy_apis() == 1);
  }
}

TEST_CASE("relay_hostile: answers for unknown ids are dropped") {
  relay_world w;
  fake_api api{
      w, w.internal(pki::internal_role::api, w.now),
      with_pongs([](auto& link, const auto& m) {
        for (auto id : {std::uint64_t(0), id_of(m) + 1, std::uint64_t(-1)})
          link.send(relay::encode(relay::answer{id, 200, "stray"}));
        link.send(relay::encode(relay::answer{id_of(m), 200, "mine"}));
        link.send(relay::encode(relay::answer{id_of(m), 200, "twice"}));
      })};
  auto relay = w.connect(w.options({api.port()}));
  for (int i = 0; i < 20; ++i)
    CHECK(ask(*relay, {"x", "", ""}).body == "mine");
  CHECK(api.connections == 1);
}

TEST_CASE("relay_hostile: one API process cannot answer for another") {
  relay_world w;
  held_joins held;
  auto good = w.listen(held);
  // Guesses every id there may be.
  fake_api liar{w, w.internal(pki::internal_role::api, w.now),
                [](auto& link, const auto& m) {
                  for (std::uint64_t id = 0; id < 50; ++id)
                    link.send(relay::encode(relay::answer{id, 200, "forged"}));
                  if (const auto* live = std::get_if<relay::ping>(&m))
                    link.send(relay::encode(relay::pong{live->number}));
                }};
  auto o = w.options({good->port(), liar.port()});
  o.ping_interval = milliseconds{20};
  auto relay = w.connect(o);
  std::vector<pending_reply> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(send(*relay, {"x", "", ""}));
  auto is_ready = [](const pending_reply& reply) {
    return reply.wait_for(seconds{0}) == std::future_status::ready;
  };
  REQUIRE(comes_true([&] {
    auto forged = std::count_if(all.begin(), all.end(), is_ready);
    return static_cast<std::size_t>(forged) + held.size() == all.size();
  }));
  std::this_thread::sleep_for(milliseconds{100});  // more guesses
  auto expected = held.size();
  REQUIRE(expected > 0);
  while (held.size() > 0)
    held.take().done({200, "true"});
  std::size_t honest = 0;
  for (auto& reply : all)
    honest += get(reply).body == "true" ? 1 : 0;
  CHECK(honest == expected);
}

TEST_CASE("relay_hostile: a silent API process is left, its requests resent") {
  relay_world w;
  echo_joins joins;
  std::atomic<bool> silent{false};
  std::atomic<int> swallowed{0};
  fake_api frozen{w, w.internal(pki::internal_role::api, w.now),
                  [&](auto& link, const auto& m) {
                    const auto* live = std::get_if<relay::ping>(&m);
                    if (live == nullptr) {
                      silent = true;
                      ++swallowed;
                    } else if (!silent) {
                      link.send(relay::encode(relay::pong{live->number}));
                    }
                  }};
  auto good = w.listen(joins);
  auto o = w.options({frozen.port(), good->port()});
  o.ping_interval = milliseconds{100};
  o.ping_timeout = seconds{2};
  auto relay = w.connect(o);
  std::vector<pending_reply> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(send(*relay, {"x", "", ""}));
  for (auto& reply : all)
    CHECK(get(reply).body == "echo x");
  CHECK(swallowed >= 1);
}

TEST_CASE("relay_hostile: what one API process does not take another gets") {
  relay_world w;
  held_joins joins;
  auto good = w.listen(joins);
  std::promise<void> over;
  auto stuck = std::make_unique<fake_api>(
      w, w.internal(pki::internal_role::api, w.now),
      with_pongs([until = over.get_future().share()](auto&, const auto&) {
        until.wait();
      }));
  auto o = w.options({good->port(), stuck->port()});
  o.max_queued_bytes = 1024 * 1024;
  o.ping_timeout = o.request_timeout = std::chrono::hours{1};
  auto relay = w.connect(o);
  std::vector<pending_reply> all;
  // Each gets every other, until the socket and the queue of one are full.
  while (joins.size() <= all.size() / 2 + 2) {
    REQUIRE(all.size() < 4'000);
    all.push_back(send(*relay, {std::string(60'000, 'x'), "", ""}));
    REQUIRE(comes_true([&] { return joins.size() >= all.size() / 2; }));
    auto is_refused =
        all.back().wait_for(seconds{0}) == std::future_status::ready;
    REQUIRE_FALSE(is_refused);
  }
  // It vanishes while the gateway is connected.
  over.set_value();
  stuck = nullptr;
  CHECK(comes_true([&] { return relay->healthy_apis() == 1; }));
}

TEST_CASE("relay_hostile: what an API process must not send ends it") {
  relay_world w;
  echo_joins joins;
  auto good = w.listen(joins);
  auto bad = GENERATE(values<std::string>({
      relay::encode(relay::request{1, relay::kind_join, "", "", "x"}),
      relay::encode(relay::ping{1}),
      std::string("\xff\xff\xff\xff", 4),
      std::string("\0\0\0\1\x63", 5),
      std::string("\0\0\0\0", 4),
  }));
  fake_api hostile{
      w, w.internal(pki::internal_role::api, w.now),
      with_pongs([&](auto& link, const auto&) { link.send(bad); })};
  auto relay = w.connect(w.options({hostile.port(), good->port()}));
  for (int i = 0; i < 4; ++i)
    CHECK(ask(*relay, {"x", "", ""}).body == "echo x");
}

TEST_CASE("relay_hostile: what a gateway must not send ends it, and it alone") {
  relay_world w;
  echo_joins joins;
  auto api = w.listen(joins);
  auto relay = w.connect(w.options({api->port()}));
  auto bad = GENERATE(values<std::string>({
      relay::encode(relay::answer{1, 200, "x"}),
      relay::encode(relay::pong{1}),
      relay::encode(relay::draining{}),
      // Longer than a request can be, refused by its length.
      std::string("\0\2\0\0", 4),
      std::string("\xff\xff\xff\xff", 4),
      std::string("\0\0\0\1\x63", 5),
      "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
  }));
  tls_peer hostile{api->port(), {.identity = w.gateway.get(), .alpn = alpn}};
  CHECK(hostile.send(bad));
  CHECK(hostile.read_to_end().empty());
  CHECK(joins.asked == 0);
  CHECK(ask(*relay, {"x", "", ""}).body == "echo x");
}

TEST_CASE("relay_hostile: an unknown kind is UNAVAILABLE, the rest goes on") {
  relay_world w;
  echo_joins joins;
  auto api = w.listen(joins);
  tls_peer newer{api->port(), {.identity = w.gateway.get(), .alpn = alpn}};
  newer.send(relay::encode(relay::request{1, 99, "req_1", "", "x"}));
  auto first = newer.read();
  auto m = relay::decode(as_bytes(first).subspan(relay::length_bytes));
  REQUIRE(m);
  CHECK(std::get<relay::answer>(m.value()).status == 503);
  newer.send(relay::encode(relay::request{2, relay::kind_join, "", "", "x"}));
  auto second = newer.read();
  m = relay::decode(as_bytes(second).subspan(relay::length_bytes));
  REQUIRE(m);
  CHECK(m.value() == relay::message{relay::answer{2, 200, "echo x"}});
}

TEST_CASE(
    "relay_hostile: a request id that could harm the journal is replaced") {
  relay_world w;
  held_joins joins;
  auto api = w.listen(joins);
  auto relay = w.connect(w.options({api->port()}));
  auto bad = GENERATE(values<std::string>(
      {"", std::string("a\0b", 3), "\xff\xfe", "a'b", "REQ", "a\nb"}));
  auto reply = send(*relay, {"x", bad, ""});
  auto got = joins.take();
  CHECK(request_id::parse(got.call.correlation));
  got.done({200, ""});
  (void)get(reply);
}

TEST_CASE("relay_hostile: a gateway that takes no answers is ended, bounded") {
  relay_world w;
  class big_joins final : public actors::daemon_port {
   public:
    std::atomic<int> asked{0};
    void call(actors::daemon_call,
              std::function<void(actors::daemon_reply)> done) override {
      ++asked;
      done({200, std::string(200 * 1024, 'x')});
    }
  } joins;
  relay_listener_options o;
  o.max_queued_bytes = 1024 * 1024;
  auto api = w.listen(joins, o);
  tls_peer greedy{api->port(), {.identity = w.gateway.get(), .alpn = alpn}};
  std::string ask_again;
  for (std::uint64_t i = 1; i <= 200; ++i)
    ask_again += relay::encode(relay::request{i, relay::kind_join, "", "", ""});
  REQUIRE(greedy.send(ask_again));
  // It was cut off long before 200 answers of 200 KiB.
  CHECK(greedy.read_to_end().size() < 200 * 200 * 1024);
  auto relay = w.connect(w.options({api->port()}));
  CHECK(ask(*relay, {"x", "", ""}).status == 200);
}

TEST_CASE("relay_hostile: a peer that goes silent is dropped (case 139)") {
  relay_world w;
  echo_joins joins;
  relay_listener_options o;
  o.handshake_timeout = milliseconds{100};
  auto strict = w.listen(joins, o);
  raw_socket before_tls{strict->port()};
  before_tls.send("\x16\x03");
  CHECK(before_tls.is_over());
  o.handshake_timeout = seconds{10};
  o.idle_timeout = seconds{2};
  auto api = w.listen(joins, o);
  tls_peer quiet{api->port(), {.identity = w.gateway.get(), .alpn = alpn}};
  CHECK(quiet.send(relay::encode(relay::ping{5})));
  CHECK(quiet.read() == good_pong);
  CHECK(quiet.read().empty());
}

TEST_CASE("relay_hostile: options that cannot work are INVALID_CONFIG") {
  relay_world w;
  auto o = w.options({1});
  SECTION("no address") {
    o.addresses.clear();
  }
  SECTION("no certificate") {
    o.identity = nullptr;
  }
  SECTION("no CA") {
    o.internal_ca_pem = "no PEM";
  }
  SECTION("a key that is not the certificate's") {
    auto mixed = std::make_shared<tls_identity>();
    mixed->chain_pem = w.gateway->chain_pem;
    mixed->key_pem = relay_world{}.gateway->key_pem.clone();
    o.identity = mixed;
  }
  auto relay = relay_client::start(o);
  REQUIRE_FALSE(relay);
  CHECK(relay.error().code == errc::invalid_config);
  echo_joins joins;
  relay_listener_options bad;
  CHECK(start_relay_listener(bad, joins).error().code == errc::invalid_config);
  bad.keys = w.keys;
  bad.address = "localhost";
  CHECK(start_relay_listener(bad, joins).error().code == errc::invalid_config);
  bad.address = "127.0.0.1";
  bad.names = {"not a name"};
  CHECK(start_relay_listener(bad, joins).error().code == errc::invalid_config);
}
