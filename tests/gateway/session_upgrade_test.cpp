// Who gets a session's WebSocket, and who does not: DESIGN section 7.
#include "session_support.hpp"

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using actors::daemon_request;

namespace {

std::string refused(const session_world& w, const tls_identity* identity,
                    const std::string& request = upgrade_text()) {
  ws_peer peer{w.server->port(), identity};
  return peer.upgrade(request);
}

bool is(const std::string& answer, int status, std::string_view code) {
  INFO(answer);
  return answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ") &&
         answer.find("\"code\":\"" + std::string{code} + "\"") != answer.npos;
}

}  // namespace

TEST_CASE("session: a node's certificate and the subprotocol open one") {
  session_world w;
  w.start();
  auto who = w.node();
  ws_peer peer{w.server->port(), who.tls.get()};
  auto answer = peer.upgrade();
  INFO(answer);
  CHECK(answer.starts_with("HTTP/1.1 101 "));
  // RFC 6455 section 1.3: the accept value of its sample nonce.
  CHECK(answer.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") != answer.npos);
  CHECK(answer.find("Sec-WebSocket-Protocol: bc-session.1") != answer.npos);
  CHECK(answer.find("Beast") == answer.npos);
  CHECK(comes_true([&] { return w.registry->size() == 1; }));
}

TEST_CASE("session: who does not get one") {
  session_world w;
  w.start();
  auto who = w.node();
  SECTION("no certificate") {
    CHECK(is(refused(w, nullptr), 401, "UNAUTHENTICATED"));
  }
  SECTION("no upgrade") {
    CHECK(is(refused(w, who.tls.get(),
                     "GET /v1/session HTTP/1.1\r\nHost: h\r\n\r\n"),
             400, "INVALID_INPUT"));
  }
  SECTION("not a GET") {
    auto text = upgrade_text();
    text.replace(0, 3, "POST");
    CHECK(is(refused(w, who.tls.get(), text), 400, "INVALID_INPUT"));
  }
  SECTION("another version of WebSocket, or none") {
    auto text = upgrade_text();
    text.replace(text.find("Version: 13"), 11, "Version: 12");
    auto answer = refused(w, who.tls.get(), text);
    CHECK_FALSE(answer.starts_with("HTTP/1.1 101 "));
  }
  SECTION("another subprotocol, or none") {
    CHECK(is(refused(w, who.tls.get(), upgrade_text("bc-session.2")), 400,
             "INVALID_INPUT"));
    CHECK(
        is(refused(w, who.tls.get(), upgrade_text("")), 400, "INVALID_INPUT"));
  }
  SECTION("frames before the answer") {
    CHECK(is(refused(w, who.tls.get(),
                     upgrade_text() + frame_bytes({.payload = "early"})),
             400, "INVALID_INPUT"));
  }
  SECTION("a certificate of another CA does not pass TLS") {
    auto other = pki::make_ca("other CA", w.now).value();
    auto stranger = node_number(other, w.now, 1);
    CHECK(refused(w, stranger.tls.get()).empty());
  }
  SECTION("an expired certificate does not pass TLS") {
    auto old = node_number(w.node_ca, w.now - std::chrono::hours{30}, 1);
    CHECK(refused(w, old.tls.get()).empty());
  }
  SECTION("a certificate of the CA that is no node's") {
    auto key = pki::issue_server_certificate(w.node_ca, {"h"}, w.now).value();
    auto odd = identity_of(key);
    auto answer = refused(w, odd.get());
    // OpenSSL may refuse its usage before we see it.
    CHECK((answer.empty() || is(answer, 401, "UNAUTHENTICATED")));
  }
  SECTION("nothing tells this gateway of revocations") {
    w.registry->watched(false);
    CHECK(is(refused(w, who.tls.get()), 503, "UNAVAILABLE"));
  }
  SECTION("the gateway is stopping") {
    w.registry->stop();
    CHECK(is(refused(w, who.tls.get()), 503, "UNAVAILABLE"));
  }
  CHECK(w.registry->size() == 0);
  CHECK(w.api.count(daemon_request::hello) == 0);
}

TEST_CASE(
    "session: places are bounded, of all, of a certificate, of an address") {
  session_world w;
  SECTION("of all") {
    w.options.max_open = 2;
  }
  SECTION("of an address") {
    w.options.max_open_per_peer = 2;
  }
  SECTION("of a certificate") {
    w.options.max_per_certificate = 2;
  }
  const bool by_certificate = w.options.max_per_certificate == 2;
  const bool of_all = w.options.max_open == 2;
  w.start();
  std::vector<node_identity> nodes;
  for (int i = 0; i < 3; ++i)
    nodes.push_back(by_certificate && i > 0 ? nodes[0] : w.node(i));
  auto first = w.open(nodes[0]);
  auto second = w.open(nodes[1]);
  CHECK(is(refused(w, nodes[2].tls.get()), of_all ? 503 : 429,
           of_all ? "UNAVAILABLE" : "RATE_LIMITED"));
  // One that goes makes room.
  first.reset();
  CHECK(comes_true([&] { return w.registry->size() == 1; }));
  CHECK(comes_true([&] {
    ws_peer next{w.server->port(), nodes[2].tls.get()};
    return next.upgrade().starts_with("HTTP/1.1 101 ");
  }));
}

TEST_CASE("session: sessions take no place of other connections") {
  session_world w;
  w.server_limits.max_connections = 2;
  w.server_limits.max_connections_per_peer = 2;
  w.start();
  std::vector<std::unique_ptr<ws_peer>> open;
  for (int i = 0; i < 5; ++i)
    open.push_back(w.open(w.node(i)));
  tls_peer join{w.server->port(), {}};
  join.send("GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  CHECK(join.read_to_end().starts_with("HTTP/1.1 200 "));
}

TEST_CASE("session: a node's old certificate keeps none from its new one") {
  session_world w;
  w.start();
  auto old = w.node(1);
  auto fresh = w.node(1);
  std::vector<std::unique_ptr<ws_peer>> open;
  for (std::size_t i = 0; i < w.options.max_per_certificate; ++i)
    open.push_back(w.open(old));
  CHECK(is(refused(w, old.tls.get()), 429, "RATE_LIMITED"));
  for (int i = 0; i < 20; ++i)
    (void)refused(w, old.tls.get());
  CHECK(refused(w, fresh.tls.get()).starts_with("HTTP/1.1 101 "));
}

TEST_CASE("session: certificates without end bring a node no more places") {
  session_world w;
  w.start();
  std::vector<std::unique_ptr<ws_peer>> open;
  for (std::size_t i = 0; i < w.options.max_per_node_and_peer; ++i)
    open.push_back(w.open(w.node(1)));
  CHECK(is(refused(w, w.node(1).tls.get()), 429, "RATE_LIMITED"));
  CHECK(refused(w, w.node(2).tls.get()).starts_with("HTTP/1.1 101 "));
  // One that goes makes room.
  open.pop_back();
  CHECK(comes_true([&] {
    return refused(w, w.node(1).tls.get()).starts_with("HTTP/1.1 101 ");
  }));
}

TEST_CASE("session: a node that comes again and again is put off") {
  session_world w;
  // None comes back while this runs.
  w.options.upgrades.per_second = 0.000'001;
  w.start();
  auto who = w.node(1);
  const auto burst = static_cast<int>(w.options.upgrades.burst);
  for (int i = 0; i < burst; ++i) {
    CHECK(refused(w, who.tls.get()).starts_with("HTTP/1.1 101 "));
    REQUIRE(comes_true([&] { return w.registry->size() == 0; }));
  }
  CHECK(is(refused(w, who.tls.get()), 429, "RATE_LIMITED"));
  // Nobody else is.
  CHECK(refused(w, w.node(2).tls.get()).starts_with("HTTP/1.1 101 "));
}
