#include "gateway/gateway_node.hpp"

#include "gateway/routes.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace bc::gateway {

namespace {

using steady = std::chrono::steady_clock;

readiness readiness_of(const relay_client& relay) {
  if (relay.has_healthy_api())
    return {};
  return {false,
          R"({"status":"unavailable","reason":"no API process answers"})"};
}

// Without them any machine that has a token would join, but no node could say
// who it is.
result<void> must_have_node_ca(const std::string& pem) {
  if (pem.empty())
    return fail(errc::invalid_config,
                "a gateway needs the CA of the nodes' certificates");
  return ok();
}

/// What the relay hears, for the sessions.
class session_watch final : public relay_watcher {
 public:
  explicit session_watch(std::shared_ptr<session_registry> sessions)
      : sessions_(std::move(sessions)) {}
  void on_notice(const actors::gateway_notice& notice) override {
    sessions_->hear(notice);
  }
  void on_watch(bool held) override { sessions_->watched(held); }

 private:
  std::shared_ptr<session_registry> sessions_;
};

class node final : public gateway_node {
 public:
  node(std::unique_ptr<relay_client> relay,
       std::shared_ptr<session_registry> sessions,
       std::unique_ptr<http_server> server)
      : relay_(std::move(relay)),
        sessions_(std::move(sessions)),
        server_(std::move(server)) {}
  ~node() override { stop(seconds{0}); }

  [[nodiscard]] std::uint16_t port() const override { return server_->port(); }
  [[nodiscard]] bool has_healthy_api() const override {
    return relay_->has_healthy_api();
  }

  [[nodiscard]] std::size_t healthy_apis() const override {
    return relay_->healthy_apis();
  }
  [[nodiscard]] bool is_watched() const override {
    return sessions_->is_watched();
  }
  [[nodiscard]] std::size_t in_flight() const override {
    return relay_->in_flight();
  }

  [[nodiscard]] std::size_t sessions() const override {
    return sessions_->size();
  }

  result<void> renew_serving(const tls_identity& serving,
                             const std::string& node_ca_pem) override {
    BC_TRYV(must_have_node_ca(node_ca_pem));
    return server_->renew_tls(serving, {.ca_pem = node_ca_pem});
  }
  result<void> renew_internal(const tls_identity& identity,
                              const std::string& internal_ca_pem) override {
    return relay_->renew_tls(identity, internal_ca_pem);
  }

  // The listener first: what it has in flight needs the relay, and so has what
  // the ends of sessions are told by.
  void stop(seconds grace) override {
    auto end = steady::now() + grace;
    auto rest = [end] {
      return std::max(
          std::chrono::duration_cast<milliseconds>(end - steady::now()),
          milliseconds{0});
    };
    sessions_->stop();
    server_->stop(grace);
    (void)sessions_->drain(rest());
    relay_->stop(std::chrono::duration_cast<seconds>(rest()));
  }

 private:
  std::unique_ptr<relay_client> relay_;  // first: the others use it
  std::shared_ptr<session_registry> sessions_;
  std::unique_ptr<http_server> server_;
};

}  // namespace

result<std::unique_ptr<gateway_node>> start_gateway(gateway_options options) {
  if (!options.serving)
    return fail(errc::invalid_config,
                "a gateway needs a serving certificate and key");
  BC_TRYV(must_have_node_ca(options.node_ca_pem));
  BC_TRY(relay, relay_client::start(std::move(options.relay)));
  server_options o;
  o.address = options.address;
  o.port = options.port;
  o.tls = options.serving;
  o.clients.ca_pem = options.node_ca_pem;
  o.max_connections = options.max_connections;
  o.max_connections_per_peer = options.max_connections_per_peer;
  o.read_timeout = options.read_timeout;
  o.io_threads = options.io_threads;
  o.allow = daemon_methods;
  auto sessions = session_registry::make(*relay, options.sessions);
  o.web_socket = sessions->web_socket();
  auto handler = make_daemon_handler(
      *relay, {[own = relay.get()] { return readiness_of(*own); }});
  BC_TRY(server,
         http_server::start(std::move(o),
                            limit_peers(std::move(handler), options.joins)));
  relay->watch(sessions->gateway_id(),
               std::make_shared<session_watch>(sessions));
  return std::make_unique<node>(std::move(relay), std::move(sessions),
                                std::move(server));
}

}  // namespace bc::gateway
