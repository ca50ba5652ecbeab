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

class node final : public gateway_node {
 public:
  node(std::unique_ptr<relay_client> relay, std::unique_ptr<http_server> server)
      : relay_(std::move(relay)), server_(std::move(server)) {}
  ~node() override { stop(seconds{0}); }

  [[nodiscard]] std::uint16_t port() const override { return server_->port(); }
  [[nodiscard]] bool has_healthy_api() const override {
    return relay_->has_healthy_api();
  }

  // The listener first: what it has in flight needs the relay.
  void stop(seconds grace) override {
    auto end = steady::now() + grace;
    server_->stop(grace);
    auto rest = std::chrono::duration_cast<seconds>(end - steady::now());
    relay_->stop(std::max(rest, seconds{0}));
  }

 private:
  std::unique_ptr<relay_client> relay_;  // first: the server's handler uses it
  std::unique_ptr<http_server> server_;
};

}  // namespace

result<std::unique_ptr<gateway_node>> start_gateway(gateway_options options) {
  if (!options.serving)
    return fail(errc::invalid_config,
                "a gateway needs a serving certificate and key");
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
  auto handler = make_daemon_handler(
      *relay, {[own = relay.get()] { return readiness_of(*own); }});
  BC_TRY(server,
         http_server::start(std::move(o),
                            limit_peers(std::move(handler), options.joins)));
  return std::make_unique<node>(std::move(relay), std::move(server));
}

}  // namespace bc::gateway
