#pragma once

#include "actors/commands/command_flow.hpp"
#include "base/wire_renew.hpp"
#include "daemon/renewal.hpp"
#include "gateway/gateway_node.hpp"
#include "pki/signature.hpp"
#include "relay_support.hpp"
#include "tests/actors/renew_world.hpp"
#include "tests/daemon/fake_gateway.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bc::gateway::testing {

/// What answers gateways: the real flows, one call at a time.
class real_service final : public actors::daemon_port {
 public:
  explicit real_service(test::renew_world& w) : w_(w) {}

  void call(actors::daemon_call call,
            std::function<void(actors::daemon_reply)> done) override {
    std::lock_guard lock{mutex_};
    auto give = [&](const wire::join_answer& answer) {
      done({wire::http_status(answer), wire::encode(answer)});
    };
    using what = actors::daemon_request;
    if (call.what == what::renew)
      return actors::run_renew(w_.renewing(), w_.ledger, std::move(call), give);
    if (actors::is_of_session(call.what))
      return actors::run_session_call(sessions(), w_.ledger, std::move(call),
                                      done);
    if (call.what == what::command_result)
      return actors::run_result(sessions(), w_.ledger, std::move(call), done);
    actors::run_join(w_.environment(), w_.ledger, std::move(call), give);
  }

 private:
  [[nodiscard]] std::shared_ptr<actors::session_environment> sessions() const {
    auto out = std::make_shared<actors::session_environment>();
    out->keys = w_.keys;
    return out;
  }

  std::mutex mutex_;
  test::renew_world& w_;
};

/// A deployment with one machine; its gateway does to requests and answers
/// what the test says.
struct deployment {
  relay_world internal;
  test::renew_world w;
  temporary_folder folder;
  fake_machine machine;
  real_service service{w};
  std::unique_ptr<relay_listener> api;
  std::unique_ptr<gateway_node> gateway;
  daemon::config config;
  std::function<void(wire::join_request&)> on_request;
  std::function<void(wire::renew_request&)> on_renewal;
  std::function<void(wire::join_answer&)> on_answer;
  std::vector<wire::join_request> seen;
  std::vector<wire::renew_request> renewals;
  std::vector<wire::join_answer> given;

  deployment() {
    const auto& keys = internal.keys;
    w.keys = keys;
    w.time.set(internal.now);
    api = internal.listen(service);
    gateway_options o;
    o.address = "127.0.0.1";
    o.serving = serving();
    o.node_ca_pem = pki::certificate_pem(keys->node_ca.certificate);
    o.relay = internal.options({api->port()});
    auto started = start_gateway(std::move(o));
    REQUIRE(started);
    gateway = std::move(started).value();
    REQUIRE(comes_true([&] { return gateway->has_healthy_api(); }));
    auto pins = pki::pins_of(*keys);
    write_text(folder / "join-encryption.jwk",
               pki::to_jwk(keys->join_encryption.pub()));
    config = {"https://127.0.0.1:" + std::to_string(gateway->port()),
              w.site.str(),
              pins.serving_ca,
              pins.join_signing,
              pins.join_encryption,
              folder / "data",
              folder / "join-encryption.jwk"};
  }

  /// What every gateway of the deployment shows machines.
  [[nodiscard]] std::shared_ptr<const tls_identity> serving() const {
    const auto& ca = internal.keys->serving_ca;
    auto leaf = pki::issue_server_certificate(ca, {"127.0.0.1"}, internal.now);
    auto out = identity_of(leaf.value());
    out->chain_pem += pki::certificate_pem(ca.certificate);
    return out;
  }

  daemon::exchange pass(std::string_view body) {
    auto request = wire::decode_join_request(body).value();
    if (on_request)
      on_request(request);
    seen.push_back(request);
    return altered(daemon::post_join(config, wire::encode(request)));
  }

  daemon::join_outcome join(const test::minted& token) {
    daemon::join_options o;
    o.time = &w.time;
    o.wait = [](milliseconds) {};
    o.send = [this](std::string_view body) { return pass(body); };
    return daemon::run_join(config, machine, secret_bytes{token.text()}, o);
  }

  /// The machine, joined.
  daemon::node_identity joined() {
    REQUIRE(join(w.mint_token()).exit_code == daemon::join_exit::joined);
    auto store = daemon::identity_store::open(config.data_dir);
    REQUIRE(store);
    auto look = store.value().look();
    REQUIRE(look);
    REQUIRE(look.value().pair);
    return std::move(*look.value().pair);
  }

  daemon::renewal_attempt renew(const daemon::node_identity& me) {
    return daemon::attempt_renewal(
        config, me, [this] { return w.time.now(); },
        [this](std::string_view body, const daemon::node_identity* as) {
          auto request = wire::decode_renew_request(body).value();
          if (on_renewal)
            on_renewal(request);
          renewals.push_back(request);
          return altered(daemon::post_to_gateway(config, "/v1/renew",
                                                 wire::encode(request), as));
        });
  }

  /// What the gateway asks on its own account.
  wire::join_answer ask(const wire::join_request& request) {
    auto got = daemon::post_join(config, wire::encode(request));
    REQUIRE(got.what == daemon::exchange::fate::answered);
    return wire::decode_join_answer(got.status, got.body).value();
  }

  [[nodiscard]] bool has_identity() const {
    return std::filesystem::exists(folder / "data/identity.json");
  }

 private:
  daemon::exchange altered(daemon::exchange got) {
    REQUIRE(got.what == daemon::exchange::fate::answered);
    auto answer = wire::decode_join_answer(got.status, got.body).value();
    given.push_back(answer);
    if (on_answer) {
      on_answer(answer);
      got.status = wire::http_status(answer);
      got.body = wire::encode(answer);
    }
    return got;
  }
};

inline void sign_anew(wire::join_answer& a, const pki::private_key& key,
                      pki::purpose purpose = pki::purpose::join_response) {
  auto sig = pki::sign(key, purpose, {as_bytes(a.body)});
  a.signature = {sig.begin(), sig.end()};
}

}  // namespace bc::gateway::testing
