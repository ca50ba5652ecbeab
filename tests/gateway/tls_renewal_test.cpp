// Certificates are replaced while connections stand (docs/rotate-keys.md).
#include "gateway/gateway_node.hpp"
#include "pki/rotation.hpp"
#include "relay_support.hpp"

#include <catch2/catch.hpp>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using pki::key_name;

namespace {

const std::string one_more =
    "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx";

// An administrator's, put beside a certificate that was made for another.
secret_bytes rsa_key() {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{
      EVP_RSA_gen(2048), EVP_PKEY_free};
  const std::unique_ptr<BIO, decltype(&BIO_free)> out{BIO_new(BIO_s_mem()),
                                                      BIO_free};
  REQUIRE(PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0,
                                   nullptr, nullptr) == 1);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &text);
  return secret_bytes{std::string_view{text, static_cast<std::size_t>(size)}};
}

/// What the log says while this lives; make it before what logs.
class log_lines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static std::shared_ptr<log_lines> listen() {
    auto out = std::make_shared<log_lines>();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("", out));
    return out;
  }
  bool has(const std::string& words) {
    std::lock_guard lock{mutex_};
    return text_.find(words) != text_.npos;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& m) override {
    text_.append(m.payload.data(), m.payload.size()) += '\n';
  }
  void flush_() override {}
  std::string text_;
};

/// The logger of before is there again at the end.
struct log_restored {
  std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
  ~log_restored() { spdlog::set_default_logger(before); }
};

bool is_served_by(const http_server& server, const tls_setup& whose) {
  client_options options;
  options.url = url_of(server, true);
  options.ca_file = whose.ca_file;
  return send_request(options, "POST", "/a", {}, "x").has_value();
}

/// A gateway before an API process, and files of it that are made anew.
struct world {
  relay_world internal;
  echo_joins joins;
  gateway_options options;

  world() {
    options.address = "127.0.0.1";
    options.serving = serving_of(*internal.keys);
    options.node_ca_pem = pem_of(*internal.keys, key_name::node_ca);
  }

  [[nodiscard]] std::shared_ptr<tls_identity> serving_of(
      const pki::key_bundle& keys) const {
    return identity_of(pki::issue_server_certificate(
                           keys.serving_ca, {"127.0.0.1"}, internal.now)
                           .value());
  }
  [[nodiscard]] static std::string pem_of(const pki::key_bundle& keys,
                                          key_name which) {
    return pki::certificates_pem(pki::certificates_of(keys, which));
  }
  /// The deployment with this key activated.
  [[nodiscard]] relay_world rotated(key_name which) const {
    auto next = pki::prepare_key(*internal.keys, which, internal.now).value();
    next = pki::activate_key(next, which, internal.now, true).value();
    auto out = internal;
    out.keys = std::make_shared<const pki::key_bundle>(std::move(next));
    out.gateway = out.internal(pki::internal_role::gateway, out.now);
    return out;
  }
  std::unique_ptr<gateway_node> start(std::uint16_t api) {
    options.relay = internal.options({api});
    auto out = start_gateway(options);
    if (!out)
      FAIL(out.error().message);
    REQUIRE(comes_true([&] { return out.value()->has_healthy_api(); }));
    return std::move(out).value();
  }
};

std::string answer_to(std::uint16_t port, const tls_identity& who) {
  tls_peer client{port, {.identity = &who}};
  client.send(
      "POST /v1/join HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
      "Content-Length: 1\r\n\r\nx");
  return client.read_to_end();
}

}  // namespace

TEST_CASE("tls renewal: who comes is served by the new, who is there goes on") {
  tls_setup before{{"127.0.0.1"}}, after{{"127.0.0.1"}};
  server_options options;
  options.tls = before.identity;
  auto server = serve(options);
  tls_peer stays{server->port(), {}};
  REQUIRE(stays.send(one_more));
  CHECK(stays.read().ends_with("POST /a? x"));
  REQUIRE(server->renew_tls(*after.identity, {}));
  CHECK(is_served_by(*server, after));
  CHECK_FALSE(is_served_by(*server, before));
  REQUIRE(stays.send(one_more));
  CHECK(stays.read().ends_with("POST /a? x"));
}

TEST_CASE("tls renewal: what cannot be used changes nothing") {
  tls_setup before{{"127.0.0.1"}}, other{{"127.0.0.1"}};
  server_options options;
  options.tls = before.identity;
  auto server = serve(options);
  tls_identity bad;
  bad.chain_pem = other.identity->chain_pem;
  bad.key_pem = other.identity->key_pem.clone();
  client_verification clients;
  SECTION("the key of another certificate") {
    bad.key_pem = before.identity->key_pem.clone();
  }
  SECTION("half of the chain") {
    bad.chain_pem.resize(bad.chain_pem.size() - 40);
  }
  SECTION("half of the key") {
    bad.key_pem = secret_bytes{bad.key_pem.expose_text().substr(0, 60)};
  }
  SECTION("a key of another type") {
    bad.key_pem = rsa_key();
  }
  SECTION("a CA that is none") {
    clients.ca_pem = "no PEM";
  }
  auto done = server->renew_tls(bad, clients);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::invalid_config);
  CHECK(is_served_by(*server, before));
}

TEST_CASE("tls renewal: a server of plain HTTP has nothing to renew") {
  tls_setup setup{{"127.0.0.1"}};
  auto server = serve({});
  auto done = server->renew_tls(*setup.identity, {});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::invalid_state);
  CHECK(ask(*server, "GET", "/").status == 200);
}

TEST_CASE(
    "tls renewal: nodes of a CA that came are let in, and of the one "
    "before") {
  world w;
  auto api = w.internal.listen(w.joins);
  auto gateway = w.start(api->port());
  auto next = w.rotated(key_name::node_ca);
  auto old_node = make_node(w.internal.keys->node_ca, w.internal.now);
  auto new_node = make_node(next.keys->node_ca, w.internal.now);
  CHECK(answer_to(gateway->port(), *new_node.tls).empty());
  // Without an authority nobody would be asked for a certificate.
  auto none = gateway->renew_serving(*w.serving_of(*next.keys), "");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == errc::invalid_config);
  REQUIRE(gateway->renew_serving(*w.serving_of(*next.keys),
                                 world::pem_of(*next.keys, key_name::node_ca)));
  CHECK(answer_to(gateway->port(), *new_node.tls).ends_with("echo x"));
  CHECK(answer_to(gateway->port(), *old_node.tls).ends_with("echo x"));
}

TEST_CASE(
    "tls renewal: an API process that moved two steps is reached by the "
    "files of between") {
  world w;
  auto api = w.internal.listen(w.joins);
  const auto port = api->port();
  auto gateway = w.start(port);
  auto between = w.rotated(key_name::internal_ca);
  REQUIRE(gateway->renew_internal(
      *between.gateway, world::pem_of(*between.keys, key_name::internal_ca)));
  // The connection that stands is not the renewal's.
  CHECK(gateway->has_healthy_api());
  auto beyond = between;
  beyond.keys = std::make_shared<const pki::key_bundle>(
      pki::retire_key(*between.keys, key_name::internal_ca, w.internal.now,
                      false)
          .value());
  api.reset();
  REQUIRE(comes_true([&] { return !gateway->has_healthy_api(); }));
  relay_listener_options o;
  o.port = port;
  api = beyond.listen(w.joins, o);
  CHECK(comes_true([&] { return gateway->has_healthy_api(); }));
}

TEST_CASE(
    "tls renewal: an internal certificate that is no gateway's of that "
    "CA is refused") {
  world w;
  auto api = w.internal.listen(w.joins);
  auto gateway = w.start(api->port());
  const auto ca = world::pem_of(*w.internal.keys, key_name::internal_ca);
  relay_world stranger;
  const std::pair<std::shared_ptr<const tls_identity>, std::string> bad[] = {
      {w.internal.internal(pki::internal_role::api, w.internal.now), ca},
      {stranger.gateway, ca},
      {w.internal.gateway, "no PEM"},
      {w.internal.gateway,
       world::pem_of(*stranger.keys, key_name::internal_ca)}};
  for (const auto& [identity, with] : bad) {
    auto done = gateway->renew_internal(*identity, with);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == errc::invalid_config);
  }
  CHECK(gateway->has_healthy_api());
  CHECK(gateway->renew_internal(
      *w.internal.internal(pki::internal_role::gateway, w.internal.now), ca));
}

TEST_CASE("tls renewal: the log tells which API processes it reaches") {
  log_restored after;
  auto log = log_lines::listen();
  world w;
  relay_world stranger;
  echo_joins joins;
  auto api = w.internal.listen(w.joins);
  // Of another deployment; and nobody.
  auto strange = stranger.listen(joins);
  w.options.relay = w.internal.options({api->port(), strange->port(), 1});
  auto started = start_gateway(w.options);
  REQUIRE(started);
  auto& gateway = *started.value();
  REQUIRE(comes_true([&] { return gateway.has_healthy_api(); }));
  REQUIRE(gateway.renew_internal(
      *w.internal.internal(pki::internal_role::gateway, w.internal.now),
      world::pem_of(*w.internal.keys, key_name::internal_ca)));
  const auto of = [](std::uint16_t port, const char* words) {
    return "127.0.0.1:" + std::to_string(port) + words;
  };
  CHECK(comes_true([&] {
    return log->has(of(api->port(), " is reached by the certificate in"));
  }));
  for (auto port : {strange->port(), std::uint16_t{1}})
    CHECK(comes_true([&] {
      return log->has(of(port, " is not reached by the certificate in"));
    }));
  CHECK_FALSE(log->has(of(api->port(), " is not reached")));
  // The connection that stands is no part of it.
  CHECK_FALSE(log->has("no connection to " + of(api->port(), "")));
  CHECK(gateway.healthy_apis() == 1);
}
