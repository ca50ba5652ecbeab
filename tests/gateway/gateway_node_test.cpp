// A gateway as `better-compute gateway` starts it: DESIGN section 7.
#include "gateway/gateway_node.hpp"

#include "relay_support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

struct world {
  relay_world internal;
  gateway_options options;

  world() {
    auto leaf = pki::issue_server_certificate(internal.keys->serving_ca,
                                              {"127.0.0.1"}, internal.now);
    options.address = "127.0.0.1";
    options.serving = identity_of(leaf.value());
    options.node_ca_pem =
        pki::certificate_pem(internal.keys->node_ca.certificate);
  }

  std::unique_ptr<gateway_node> start(const relay_listener& api) {
    options.relay = internal.options({api.port()});
    auto out = start_gateway(options);
    if (!out)
      FAIL(out.error().message);
    REQUIRE(comes_true([&] { return out.value()->has_healthy_api(); }));
    return std::move(out).value();
  }
};

std::string post(const std::string& body) {
  return "POST /v1/join HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string ask(std::uint16_t port, const std::string& text,
                const tls_identity* identity = nullptr) {
  tls_peer client{port, {.identity = identity}};
  client.send(text);
  return client.read_to_end();
}

const std::string ready =
    "GET /readyz HTTP/1.1\r\nHost: h\r\n"
    "Connection: close\r\n\r\n";

}  // namespace

TEST_CASE(
    "gateway_node: body and verified certificate reach the join service, "
    "its answer the daemon") {
  world w;
  held_joins joins;
  auto api = w.internal.listen(joins);
  auto gateway = w.start(*api);
  auto node = make_node(w.internal.keys->node_ca, w.internal.now);
  std::string answer;
  std::thread daemon{
      [&] { answer = ask(gateway->port(), post("sealed"), node.tls.get()); }};
  auto got = joins.take();
  CHECK(got.call.body == "sealed");
  CHECK(got.call.client_certificate == as_text(node.certificate));
  CHECK(got.call.correlation.starts_with("req_"));
  got.done({202, "deferred"});
  daemon.join();
  CHECK(answer.starts_with("HTTP/1.1 202 "));
  CHECK(answer.ends_with("\r\n\r\ndeferred"));
  CHECK(answer.find("x-request-id: " + got.call.correlation) != answer.npos);
}

TEST_CASE(
    "gateway_node: a daemon without a certificate is served, a bad one "
    "is not") {
  world w;
  echo_joins joins;
  auto api = w.internal.listen(joins);
  auto gateway = w.start(*api);
  CHECK(ask(gateway->port(), post("x")).ends_with("echo x"));
  // Internal certificates are no node's.
  CHECK(ask(gateway->port(), post("x"), w.internal.gateway.get()).empty());
  auto old = make_node(w.internal.keys->node_ca,
                       w.internal.now - std::chrono::hours{25});
  CHECK(ask(gateway->port(), post("x"), old.tls.get()).empty());
  CHECK(joins.asked == 1);
}

TEST_CASE("gateway_node: ready while an API process answers") {
  world w;
  echo_joins joins;
  auto api = w.internal.listen(joins);
  auto gateway = w.start(*api);
  CHECK(ask(gateway->port(), ready).starts_with("HTTP/1.1 200 "));
  api->stop(seconds{0});
  CHECK(comes_true([&] { return !gateway->has_healthy_api(); }));
  CHECK(ask(gateway->port(), ready).starts_with("HTTP/1.1 503 "));
  auto answer = ask(gateway->port(), post("x"));
  CHECK(answer.starts_with("HTTP/1.1 503 "));
  CHECK(answer.find("\"code\":\"UNAVAILABLE\"") != answer.npos);
}

TEST_CASE("gateway_node: too many joins of one address are 429") {
  world w;
  w.options.joins = {.per_second = 0.01, .burst = 2};
  echo_joins joins;
  auto api = w.internal.listen(joins);
  auto gateway = w.start(*api);
  CHECK(ask(gateway->port(), post("x")).starts_with("HTTP/1.1 200 "));
  CHECK(ask(gateway->port(), post("x")).starts_with("HTTP/1.1 200 "));
  CHECK(ask(gateway->port(), post("x")).starts_with("HTTP/1.1 429 "));
  CHECK(joins.asked == 2);
  CHECK(ask(gateway->port(), ready).starts_with("HTTP/1.1 200 "));
}

TEST_CASE("gateway_node: stop lets a request in flight be answered") {
  world w;
  held_joins joins;
  auto api = w.internal.listen(joins);
  auto gateway = w.start(*api);
  std::string answer;
  std::thread daemon{[&] { answer = ask(gateway->port(), post("x")); }};
  auto got = joins.take();
  std::thread stopper{[&] { gateway->stop(seconds{20}); }};
  got.done({200, "in time"});
  daemon.join();
  stopper.join();
  CHECK(answer.ends_with("in time"));
  CHECK_FALSE(gateway->has_healthy_api());
}

TEST_CASE("gateway_node: it starts before any API process is there") {
  world w;
  held_joins joins;
  std::uint16_t port = 0;
  { port = w.internal.listen(joins)->port(); }
  w.options.relay = w.internal.options({port});
  auto gateway = start_gateway(w.options);
  REQUIRE(gateway);
  CHECK(ask(gateway.value()->port(), post("x")).starts_with("HTTP/1.1 503 "));
  relay_listener_options o;
  o.port = port;
  auto api = w.internal.listen(joins, o);
  CHECK(comes_true([&] { return gateway.value()->has_healthy_api(); }));
}

TEST_CASE("gateway_node: what it cannot work with is INVALID_CONFIG") {
  world w;
  w.options.relay = w.internal.options({1});
  SECTION("no serving certificate") {
    w.options.serving = nullptr;
  }
  SECTION("no node CA that can be read") {
    w.options.node_ca_pem = "no PEM";
  }
  SECTION("no node CA at all") {
    w.options.node_ca_pem.clear();
  }
  SECTION("no API address") {
    w.options.relay.addresses.clear();
  }
  SECTION("no address") {
    w.options.address = "gw.example.com";
  }
  auto gateway = start_gateway(w.options);
  REQUIRE_FALSE(gateway);
  CHECK(gateway.error().code == errc::invalid_config);
}
