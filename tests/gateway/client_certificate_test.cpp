// spec: DESIGN section 7 (the gateway forwards the certificate it verified)
#include "base/encoding.hpp"
#include "pki/digest.hpp"
#include "tls_peer.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

constexpr std::string_view get =
    "GET / HTTP/1.1\r\nHost: h\r\n"
    "Connection: close\r\n\r\n";

struct world {
  time_point now = system_clock{}.now();
  pki::issuer node_ca = pki::make_ca("node CA", now).value();
  tls_setup setup{{"127.0.0.1"}};
  std::unique_ptr<http_server> server;

  explicit world(bool required = false) {
    server_options o;
    o.tls = setup.identity;
    o.clients = {pki::certificate_pem(node_ca.certificate), required};
    server = serve(o, [](http_request request, respond done) {
      http_response out;
      out.body = request.peer_address + " " +
                 to_hex(pki::sha256(as_bytes(request.client_certificate)));
      done(std::move(out));
    });
  }

  std::string ask(const tls_identity* identity) {
    tls_peer client{server->port(), {.identity = identity}};
    client.send(get);
    return client.read_to_end();
  }
};

std::string hash_of(byte_view certificate) {
  return "127.0.0.1 " + to_hex(pki::sha256(certificate));
}

}  // namespace

TEST_CASE("client_certificate: the verified one reaches the handler as it is") {
  world w;
  auto node = make_node(w.node_ca, w.now);
  CHECK(w.ask(node.tls.get()).ends_with(hash_of(node.certificate)));
}

TEST_CASE("client_certificate: without one the request has none") {
  world w;
  CHECK(w.ask(nullptr).ends_with(hash_of({})));
}

TEST_CASE("client_certificate: a bad one ends the connection") {
  world w;
  auto other_ca = pki::make_ca("node CA", w.now).value();
  // Another CA of the same name, over, not yet valid, for servers, the CA.
  auto bad = std::vector<std::shared_ptr<tls_identity>>{
      make_node(other_ca, w.now).tls,
      make_node(w.node_ca, w.now - std::chrono::hours{25}).tls,
      make_node(w.node_ca, w.now + std::chrono::hours{1}).tls,
      identity_of(pki::issue_server_certificate(w.node_ca, {"127.0.0.1"}, w.now)
                      .value()),
      identity_of(other_ca)};
  for (const auto& identity : bad)
    CHECK(w.ask(identity.get()).empty());
  CHECK(w.ask(nullptr).starts_with("HTTP/1.1 200"));
}

TEST_CASE("client_certificate: where one is required none is no connection") {
  world w{true};
  CHECK(w.ask(nullptr).empty());
  auto node = make_node(w.node_ca, w.now);
  CHECK(w.ask(node.tls.get()).ends_with(hash_of(node.certificate)));
}

TEST_CASE("client_certificate: a CA that is none is INVALID_CONFIG") {
  tls_setup setup{{"127.0.0.1"}};
  server_options o;
  o.tls = setup.identity;
  o.clients = {"no PEM", false};
  auto bad = http_server::start(o, echo);
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == errc::invalid_config);
  o.clients = {"", true};
  auto none = http_server::start(o, echo);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == errc::invalid_config);
}
