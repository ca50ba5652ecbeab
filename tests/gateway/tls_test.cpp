// The TLS side of the server, and the client's trust.

#include "support.hpp"

#include <catch2/catch.hpp>
#include <openssl/ssl.h>

#include <memory>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

server_options with(const tls_setup& setup) {
  server_options out;
  out.tls = setup.identity;
  return out;
}

/// What a handshake limited to a version and to groups ends with.
struct handshake_result {
  bool done = false;
  std::string version;
  int group = 0;
  int tickets = 0;
};

int count_ticket(SSL* ssl, SSL_SESSION*) {
  ++*static_cast<int*>(SSL_get_app_data(ssl));
  return 0;
}

handshake_result shake(std::uint16_t port, int max_version,
                       const char* groups) {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ctx{
      SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
  SSL_CTX_set_max_proto_version(ctx.get(), max_version);
  SSL_CTX_set1_groups_list(ctx.get(), groups);
  SSL_CTX_set_session_cache_mode(ctx.get(), SSL_SESS_CACHE_CLIENT);
  SSL_CTX_sess_set_new_cb(ctx.get(), count_ticket);
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl{SSL_new(ctx.get()), SSL_free};
  handshake_result out;
  SSL_set_app_data(ssl.get(), &out.tickets);
  raw_socket socket{port};
  SSL_set_fd(ssl.get(), socket.fd());
  out.done = SSL_connect(ssl.get()) == 1;
  if (!out.done)
    return out;
  out.version = SSL_get_version(ssl.get());
  out.group = static_cast<int>(SSL_get_negotiated_group(ssl.get()));
  std::string request =
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  SSL_write(ssl.get(), request.data(), static_cast<int>(request.size()));
  char c = 0;
  while (SSL_read(ssl.get(), &c, 1) == 1) {
  }
  SSL_shutdown(ssl.get());
  return out;
}

result<client_response> ask_tls(const http_server& server,
                                const std::string& ca_file,
                                const std::string& host = "127.0.0.1",
                                const std::string& body = "hello") {
  client_options options;
  options.url = "https://" + host + ":" + std::to_string(server.port());
  options.ca_file = ca_file;
  return send_request(options, "POST", "/a", {}, body);
}

}  // namespace

TEST_CASE(
    "tls: a client that trusts the CA is served by address and by "
    "name") {
  tls_setup setup{{"127.0.0.1", "localhost"}};
  auto server = serve(with(setup));
  for (const auto* host : {"127.0.0.1", "localhost"}) {
    auto answer = ask_tls(*server, setup.ca_file, host);
    INFO(host << (answer ? "" : ": " + answer.error().message));
    REQUIRE(answer);
    CHECK(answer.value().body == "POST /a? hello");
  }
}

TEST_CASE("tls: large bodies pass both ways") {
  tls_setup setup{{"127.0.0.1"}};
  auto options = with(setup);
  options.max_body = 300'000;
  auto server = serve(options);
  auto answer =
      ask_tls(*server, setup.ca_file, "127.0.0.1", std::string(300'000, 'x'));
  REQUIRE(answer);
  CHECK(answer.value().body.size() == 300'009);
}

TEST_CASE(
    "tls: a body over the limit is told 413 also to a client that sends "
    "on") {
  tls_setup setup{{"127.0.0.1"}};
  auto server = serve(with(setup));
  auto answer =
      ask_tls(*server, setup.ca_file, "127.0.0.1", std::string(300'000, 'x'));
  INFO((answer ? "" : answer.error().message));
  REQUIRE(answer);
  CHECK(answer.value().status == 413);
}

TEST_CASE(
    "tls: 1.2 is refused, 1.3 is spoken with X25519 or P-256 and no "
    "tickets") {
  tls_setup setup{{"127.0.0.1"}};
  auto server = serve(with(setup));
  CHECK(!shake(server->port(), TLS1_2_VERSION, "X25519:P-256").done);
  CHECK(!shake(server->port(), TLS1_3_VERSION, "P-521").done);
  auto first = shake(server->port(), TLS1_3_VERSION, "X25519:P-256");
  REQUIRE(first.done);
  CHECK(first.version == "TLSv1.3");
  CHECK(first.group == NID_X25519);
  CHECK(first.tickets == 0);
  auto second = shake(server->port(), TLS1_3_VERSION, "P-256");
  REQUIRE(second.done);
  CHECK(second.group == NID_X9_62_prime256v1);
}

TEST_CASE("tls: the client refuses another CA and another name") {
  tls_setup setup{{"127.0.0.1"}};
  tls_setup other{{"127.0.0.1"}};
  auto server = serve(with(setup));
  auto stranger = ask_tls(*server, other.ca_file);
  REQUIRE(!stranger);
  CHECK(stranger.error().code == errc::unavailable);
  CHECK(stranger.error().message.find("its certificate is not trusted: ") !=
        std::string::npos);
  CHECK(!ask_tls(*server, ""));  // the system's CAs know nothing of it
  auto misnamed = ask_tls(*server, setup.ca_file, "localhost");
  REQUIRE(!misnamed);
  CHECK(misnamed.error().message.find("its certificate is not trusted: ") !=
        std::string::npos);
  CHECK(ask_tls(*server, setup.ca_file));
}

TEST_CASE(
    "tls: plain HTTP and garbage on the TLS port end that connection "
    "alone") {
  tls_setup setup{{"127.0.0.1"}};
  auto server = serve(with(setup));
  auto text = GENERATE(as<std::string>{}, "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
                       std::string(100, '\0'), std::string(20'000, '\xff'));
  raw_socket client{server->port()};
  client.send(text);
  while (!client.is_over()) {
  }
  CHECK(ask_tls(*server, setup.ca_file));
}

TEST_CASE("tls: a handshake that does not go on is cut off (case 139)") {
  tls_setup setup{{"127.0.0.1"}};
  auto options = with(setup);
  options.read_timeout = milliseconds{100};
  auto server = serve(options);
  auto text = GENERATE(as<std::string>{}, "", std::string("\x16\x03\x01", 3));
  raw_socket client{server->port()};
  client.send(text);
  CHECK(client.is_over());
}

TEST_CASE("tls: a TLS client on the plain port is told no") {
  auto server = serve({});
  CHECK(!shake(server->port(), TLS1_3_VERSION, "X25519").done);
  CHECK(ask(*server, "GET", "/").status == 200);
}

TEST_CASE("tls: stop ends TLS connections") {
  tls_setup setup{{"127.0.0.1"}};
  auto server = serve(with(setup));
  raw_socket half{server->port()};
  half.send("\x16\x03");
  CHECK(ask_tls(*server, setup.ca_file));
  server->stop(seconds{5});
  CHECK(half.is_over());
}

TEST_CASE("tls: a chain or key that cannot be used is INVALID_CONFIG") {
  tls_setup one{{"127.0.0.1"}};
  tls_setup other{{"127.0.0.1"}};
  auto bad = std::make_shared<tls_identity>();
  bad->chain_pem = one.identity->chain_pem;
  bad->key_pem = other.identity->key_pem.clone();
  server_options options;
  options.tls = bad;
  auto mixed = http_server::start(options, echo);
  REQUIRE(!mixed);
  CHECK(mixed.error().code == errc::invalid_config);
  auto none = std::make_shared<tls_identity>();
  none->chain_pem = "not PEM";
  options.tls = none;
  auto empty = http_server::start(options, echo);
  REQUIRE(!empty);
  CHECK(empty.error().code == errc::invalid_config);
}
