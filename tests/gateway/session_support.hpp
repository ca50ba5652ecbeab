#pragma once

#include "base/wire_session.hpp"
#include "gateway/http_server.hpp"
#include "gateway/routes.hpp"
#include "gateway/session_registry.hpp"
#include "tests/gateway/relay_support.hpp"
#include "tests/gateway/ws_peer.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace bc::gateway::testing {

/// What a session asks of the join service, each kind answered as the test
/// says.
class fake_sessions final : public actors::daemon_port {
 public:
  using answers = std::function<void(
      actors::daemon_call, std::function<void(actors::daemon_reply)>)>;

  void call(actors::daemon_call asked,
            std::function<void(actors::daemon_reply)> done) override {
    answers how;
    {
      std::lock_guard lock{mutex_};
      seen_.push_back({asked.what, asked.body, asked.client_certificate});
      if (auto found = how_.find(asked.what); found != how_.end())
        how = found->second;
    }
    if (how)
      return how(std::move(asked), std::move(done));
    done({asked.what == actors::daemon_request::hello ? 503 : 200, ""});
  }

  void on(actors::daemon_request what, answers how) {
    std::lock_guard lock{mutex_};
    how_[what] = std::move(how);
  }
  void on(actors::daemon_request what, int status, std::string body = {}) {
    on(what, [status, body](const actors::daemon_call&, const auto& done) {
      done({status, body});
    });
  }
  /// Every hello is welcome.
  void welcome(int heartbeat_seconds = 15) {
    on(actors::daemon_request::hello,
       [heartbeat_seconds](const actors::daemon_call& c, const auto& done) {
         done({200, welcome_to(c.body, heartbeat_seconds)});
       });
  }
  static std::string welcome_to(const std::string& hello,
                                int heartbeat_seconds = 15) {
    auto asked = wire::decode_session_hello(hello);
    REQUIRE(asked);
    return wire::encode(wire::to_daemon{wire::welcome{asked.value().session_id,
                                                      heartbeat_seconds,
                                                      bytes(91, 1),
                                                      {1, bytes(64, 2)}}});
  }

  struct seen {
    actors::daemon_request what;
    std::string body;
    std::string certificate;
  };
  [[nodiscard]] std::vector<seen> all(actors::daemon_request what) const {
    std::lock_guard lock{mutex_};
    std::vector<seen> out;
    for (const auto& one : seen_)
      if (one.what == what)
        out.push_back(one);
    return out;
  }
  [[nodiscard]] std::size_t count(actors::daemon_request what) const {
    return all(what).size();
  }
  /// The reason of the first end, waited for.
  [[nodiscard]] std::string end_reason() const {
    REQUIRE(comes_true(
        [&] { return count(actors::daemon_request::session_end) > 0; }));
    auto end = wire::decode_session_end(
        all(actors::daemon_request::session_end).front().body);
    REQUIRE(end);
    return end.value().reason;
  }

 private:
  mutable std::mutex mutex_;
  std::map<actors::daemon_request, answers> how_;
  std::vector<seen> seen_;
};

/// A node's certificate for the nth node.
inline node_identity node_number(const pki::issuer& ca, time_point now, int n,
                                 seconds lifetime = pki::max_node_lifetime) {
  constexpr std::string_view digits = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string id = "node_01k5w00000000000000000";
  for (int i = 0, rest = n; i < 4; ++i, rest /= 32)
    id += digits[static_cast<std::size_t>(rest % 32)];
  auto key = pki::private_key::generate();
  auto der = pki::issue_node_certificate(
                 ca, {.subject_key = key.pub(),
                      .trust_domain = "compute.example.com",
                      .site = "site_01k5w000000000000000000000",
                      .node = id,
                      .statements = {},
                      .now = now,
                      .lifetime = lifetime,
                      .serial_random = {1, static_cast<std::uint8_t>(n),
                                        static_cast<std::uint8_t>(n >> 8)}})
                 .der;
  return {der, identity_of(key, der)};
}
inline std::string node_of(const node_identity& who) {
  auto leaf = pki::parse_certificate(who.certificate);
  REQUIRE(leaf);
  const auto& uri = leaf.value().uris.front();
  return uri.substr(uri.rfind('/') + 1);
}

/// A gateway in one process with what answers it, as `dev` has it.
struct session_world {
  time_point now = system_clock{}.now();
  pki::issuer node_ca = pki::make_ca("node CA", now).value();
  tls_setup tls{{"127.0.0.1"}};
  fake_sessions api;
  session_options options;
  std::function<void(web_socket_options&)> tune = {};
  server_options server_limits = {};
  std::shared_ptr<session_registry> registry;
  std::unique_ptr<http_server> server;

  void start() {
    registry = session_registry::make(api, options);
    auto o = server_limits;
    o.tls = tls.identity;
    o.clients.ca_pem = pki::certificate_pem(node_ca.certificate);
    auto sockets =
        std::make_shared<web_socket_options>(*registry->web_socket());
    if (tune)
      tune(*sockets);
    o.web_socket = sockets;
    server = serve(std::move(o), make_daemon_handler(api));
    registry->watched(true);
  }
  /// As gateway_node stops.
  void stop() {
    registry->stop();
    server->stop(seconds{20});
    CHECK(registry->drain(milliseconds{20'000}));
  }

  [[nodiscard]] node_identity node(int n = 1) const {
    return node_number(node_ca, now, n);
  }
  [[nodiscard]] std::unique_ptr<ws_peer> open(const node_identity& who) const {
    return ws_peer::open(server->port(), who.tls.get());
  }
  /// Upgraded and welcomed.
  [[nodiscard]] std::unique_ptr<ws_peer> session(
      const node_identity& who) const {
    auto out = open(who);
    REQUIRE(out->say(hello_text()));
    REQUIRE(out->read_text().find("\"welcome\"") != std::string::npos);
    return out;
  }

  static std::string hello_text() {
    return wire::encode(wire::from_daemon{
        wire::hello{"0.1.0", 1'764'000'000'000, bytes(32, 3)}});
  }
  static std::string heartbeat_text(std::uint64_t number = 1) {
    return wire::encode(wire::from_daemon{wire::heartbeat{number}});
  }
  /// Sends commands, about 180 KB a round, until `done` says so; false when
  /// that comes too late.
  bool flood(const node_identity& who, const std::function<bool()>& done) {
    // Others each time: what was sent is not sent again.
    auto made = std::make_shared<std::atomic<int>>(0);
    api.on(actors::daemon_request::fetch_commands,
           [made, node = node_of(who), n = options.limits.commands_at_once](
               const actors::daemon_call&, const auto& done) {
             wire::fetched_commands all;
             for (std::size_t i = 0; i < n; ++i)
               all.commands.push_back(
                   {wire::encode(wire::command_body{
                        "cmd_" + std::to_string(++*made), node, "ping",
                        "{\"a\":\"" + std::string(16'000, 'x') + "\"}", 1, 2}),
                    bytes(64, 7)});
             done({200, wire::encode(all)});
           });
    for (int i = 0; i < 1'000; ++i) {
      if (done())
        return true;
      auto before = api.count(actors::daemon_request::fetch_commands);
      registry->hear(
          {actors::gateway_notice::kind::commands, node_of(who), "", false});
      if (!comes_true([&] {
            return done() ||
                   api.count(actors::daemon_request::fetch_commands) > before;
          }))
        return false;
    }
    return false;
  }

  /// The id of the nth session that was asked about.
  [[nodiscard]] std::string session_id(std::size_t n = 0) const {
    auto hellos = api.all(actors::daemon_request::hello);
    REQUIRE(hellos.size() > n);
    return wire::decode_session_hello(hellos[n].body).value().session_id;
  }
};

}  // namespace bc::gateway::testing
