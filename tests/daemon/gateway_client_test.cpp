// spec: DESIGN section 7 (chain, name and pin at once); CASES 174
#include "daemon/gateway_client.hpp"

#include "tests/daemon/fake_renewals.hpp"
#include "tests/daemon/tls_server.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using daemon::exchange;

namespace {

struct world {
  temporary_folder folder;
  fake_gateway gateway;
  daemon::config config = gateway.config(folder);

  exchange post(tls_server& server, const std::string& host = "localhost") {
    config.gateway_url = server.url(host);
    auto got = daemon::post_join(config, "{}");
    server.finish();
    return got;
  }
  [[nodiscard]] const bytes& ca() const {
    return gateway.keys.serving_ca.certificate;
  }
};

const std::string whole =
    "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\n{}";

}  // namespace

TEST_CASE("gateway client: request, answer and the chain presented") {
  world w;
  tls_server server{w.gateway.server, w.ca(), whole};
  auto got = w.post(server);
  INFO(got.why);
  REQUIRE(got.what == exchange::fate::answered);
  CHECK(got.status == 403);
  CHECK(got.body == "{}");
  CHECK(got.chain == w.gateway.chain());
  CHECK(server.server_name == "localhost");
  CHECK_THAT(server.request, Catch::StartsWith("POST /v1/join HTTP/1.1\r\n") &&
                                 Catch::EndsWith("\r\n\r\n{}"));
}

TEST_CASE("gateway client: an address literal sends no server name") {
  world w;
  tls_server server{w.gateway.server, w.ca(), whole};
  CHECK(w.post(server, "127.0.0.1").what == exchange::fate::answered);
  CHECK(server.server_name.empty());
}

TEST_CASE(
    "gateway client: a chain that fails its checks gets nothing sent "
    "(case 174)") {
  world w;
  SECTION("another CA's pin") {
    w.config.serving_ca_spki_pin = w.gateway.keys.node_ca.key.pub().pin();
  }
  SECTION("the leaf's own pin") {
    w.config.serving_ca_spki_pin = w.gateway.server.key.pub().pin();
  }
  SECTION("another name") {
    w.gateway.server =
        pki::issue_server_certificate(w.gateway.keys.serving_ca,
                                      {"other.example.com"}, w.gateway.start)
            .value();
  }
  tls_server server{w.gateway.server, w.ca(), whole};
  auto got = w.post(server);
  CHECK(got.what == exchange::fate::untrusted);
  CHECK_FALSE(got.why.empty());
  CHECK(server.request.empty());
}

TEST_CASE("gateway client: a server that does not send its CA is untrusted") {
  world w;
  tls_server server{w.gateway.server, {}, whole};
  CHECK(w.post(server).what == exchange::fate::untrusted);
  CHECK(server.request.empty());
}

TEST_CASE("gateway client: TLS 1.2 is not spoken") {
  world w;
  tls_server server{w.gateway.server, w.ca(), whole, TLS1_2_VERSION};
  CHECK(w.post(server).what == exchange::fate::unreachable);
  CHECK(server.request.empty());
}

TEST_CASE("gateway client: an answer that does not come whole is lost") {
  world w;
  std::string answer;
  SECTION("none") {}
  SECTION("a part") {
    answer = "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{}";
  }
  SECTION("garbage") {
    answer = "SSH-2.0-OpenSSH\r\n";
  }
  SECTION("more than 64 KiB") {
    answer = "HTTP/1.1 200 OK\r\ncontent-length: 70000\r\n\r\n" +
             std::string(70'000, 'x');
  }
  tls_server server{w.gateway.server, w.ca(), answer};
  auto got = w.post(server);
  INFO(got.body.size() << " bytes");
  CHECK(got.what == exchange::fate::lost);
  CHECK_THAT(server.request, Catch::Contains("/v1/join"));
}

TEST_CASE("gateway client: nobody listens") {
  world w;
  {
    tls_server server{w.gateway.server, w.ca(), whole};
    w.config.gateway_url = server.url("localhost");
  }
  auto got = daemon::post_join(w.config, "{}");
  CHECK(got.what == exchange::fate::unreachable);
  CHECK_THAT(got.why, Catch::Contains("cannot connect to localhost:"));
}

TEST_CASE("gateway client: a node shows its certificate and proves its key") {
  world w;
  virtual_world time{time_point{
      std::chrono::time_point_cast<milliseconds>(system_clock{}.now())}};
  fake_renewals renewals{time};
  auto me = renewals.identity();
  const auto& node_ca = renewals.gateway.keys.node_ca.certificate;
  auto ask = [&](tls_server& server, const daemon::node_identity* as) {
    w.config.gateway_url = server.url("localhost");
    auto got = daemon::post_to_gateway(w.config, "/v1/renew", "{}", as);
    server.finish();
    INFO(got.why);
    return got;
  };
  SECTION("a good one") {
    tls_server server{w.gateway.server, w.ca(), whole, TLS1_3_VERSION, node_ca};
    auto got = ask(server, &me);
    REQUIRE(got.what == exchange::fate::answered);
    CHECK(server.client_certificate == me.who.certificate_chain[0]);
    CHECK_THAT(server.request,
               Catch::StartsWith("POST /v1/renew HTTP/1.1\r\n"));
  }
  SECTION("none") {
    tls_server server{w.gateway.server, w.ca(), whole, TLS1_3_VERSION, node_ca};
    CHECK(ask(server, nullptr).what == exchange::fate::answered);
    CHECK(server.client_certificate.empty());
  }
  SECTION("one of another CA: told apart from a lost connection") {
    tls_server server{w.gateway.server, w.ca(), whole, TLS1_3_VERSION,
                      w.gateway.keys.node_ca.certificate};
    auto got = ask(server, &me);
    CHECK(got.what == exchange::fate::lost);
    CHECK(got.certificate_rejected);
    CHECK(server.request.empty());
  }
  SECTION("one that expired (case 108)") {
    time.server -= seconds{2 * 86'400};
    auto old = renewals.identity();
    tls_server server{w.gateway.server, w.ca(), whole, TLS1_3_VERSION, node_ca};
    auto got = ask(server, &old);
    CHECK(got.what == exchange::fate::lost);
    CHECK(got.certificate_rejected);
    CHECK_THAT(got.why, Catch::Contains("expired"));
  }
  SECTION("a connection that just breaks is no verdict") {
    tls_server server{w.gateway.server, w.ca(), "", TLS1_3_VERSION, node_ca};
    auto got = ask(server, &me);
    CHECK(got.what == exchange::fate::lost);
    CHECK_FALSE(got.certificate_rejected);
  }
}

TEST_CASE("gateway client: a stop ends what is being waited for") {
  world w;
  // Takes the connection and never says a word.
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener, any, size) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  REQUIRE(::getsockname(listener, any, &size) == 0);
  w.config.gateway_url =
      "https://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  std::stop_source stop;
  std::thread later{[&] {
    int peer = ::accept(listener, nullptr, nullptr);
    stop.request_stop();
    ::close(peer);
  }};
  auto got = daemon::post_to_gateway(w.config, "/v1/renew", "{}", nullptr,
                                     stop.get_token());
  later.join();
  ::close(listener);
  CHECK(got.what != exchange::fate::answered);
  // Stopped before it began: not even a connection.
  got = daemon::post_to_gateway(w.config, "/v1/renew", "{}", nullptr,
                                stop.get_token());
  CHECK(got.what == exchange::fate::unreachable);
}
